import type { DeletionMode } from '@gatehouse/contracts'
import { bigintArray, changeRows, read } from '@gatehouse/database'
import { AuditEntry, OpenidRow, deletedUsername } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { deleteFiles } from '../../uploads/delete-files.ts'
import { endTickets } from '../accounts/end-tickets.ts'

/** Rows of one user. */
const ownRows = [
  'space_members',
  'role_assignments',
  'read_states',
  'space_folders',
  'presences',
  'federation_registries',
  'federation_credentials',
  'attach_proofs',
  'second_factors',
  'passkeys',
  'sign_ins',
  'profile_askers',
  'linked_identities',
  'provider_flows',
  'registrations',
  'emails',
  'mails',
]

type SharedTable = { table: string; key: string; columns: readonly string[] }

/** Two tombstones may want the same rows. */
const sharedRows: readonly SharedTable[] = [
  { table: 'friendships', key: 'user_id, friend_id', columns: ['user_id', 'friend_id'] },
  { table: 'friend_requests', key: 'id', columns: ['from_user_id', 'to_user_id'] },
]

/** Rows about the user are deleted. Rows that name the user as the moderator lose the name. */
const moderation = [
  { table: 'bans', key: 'space_id, user_id', moderator: 'banned_by' },
  { table: 'join_requests', key: 'id', moderator: 'decided_by' },
  { table: 'voice_restrictions', key: 'space_id, user_id', moderator: 'moderator_id' },
]

/** Deletes the rows of the user alone, and those that connect the user with others. Spec: Tombstone, deleted rows and nulled references. */
export async function deleteRelations(em: EntityManager, userId: string): Promise<void> {
  await endTickets(em, userId)
  await em.nativeDelete(OpenidRow, { accountId: userId })
  for (const table of ownRows) await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
  await em.nativeUpdate(AuditEntry, { actorId: userId }, { actorUsername: deletedUsername })
  await em.nativeUpdate(AuditEntry, { targetType: 'user', targetId: userId }, { targetName: deletedUsername })
  await changeRows(em, "delete from channel_overrides where target_type = 'member' and target_id = ?", [userId])
  for (const shared of sharedRows) {
    await lockInOrder(em, shared, userId)
    await changeRows(em, `delete from ${shared.table} where ${anyOf(shared.columns)}`, [userId, userId])
  }
  for (const { table, key, moderator } of await findExisting(em, moderation)) {
    await lockInOrder(em, { table, key, columns: ['user_id', moderator] }, userId)
    await changeRows(em, `delete from ${table} where user_id = ?`, [userId])
    await changeRows(em, `update ${table} set ${moderator} = null where ${moderator} = ?`, [userId])
  }
}

/** An instance may lack a table; naming it would abort. Asked each time: a migration may add one meanwhile. */
export async function findExisting<T extends { table: string }>(em: EntityManager, tables: readonly T[]): Promise<T[]> {
  const sql = 'select name from unnest(?::text[]) as name where to_regclass(name) is not null'
  const rows = await read<{ name: string }>(em, sql, [`{${tables.map(({ table }) => table).join(',')}}`])
  const existing = new Set(rows.map(({ name }) => name))
  return tables.filter(({ table }) => existing.has(table))
}

/** In the order of the key: two deletions at once do not deadlock. */
async function lockInOrder(em: EntityManager, { table, key, columns }: SharedTable, userId: string): Promise<void> {
  const sql = `with locked as (select 1 from ${table} where ${anyOf(columns)} order by ${key} for update)
    select count(*) from locked`
  await em.execute(sql, [userId, userId])
}

const anyOf = (columns: readonly string[]) => columns.map((column) => `${column} = ?`).join(' or ')

/** Groups pass to their first member, empty channels go. Full mode deletes own reactions too. Spec: Tombstone. */
export async function leaveDirectMessages(em: EntityManager, userId: string, mode: DeletionMode): Promise<void> {
  const channelIds = await lockChannels(em, userId)
  await changeRows(em, 'delete from dm_members where user_id = ?', [userId])
  const transfer = `update dm_channels c set owner_id = (
      select m.user_id from dm_members m where m.channel_id = c.id order by m.joined_at, m.user_id limit 1
    )
    where c.owner_id = ?`
  await changeRows(em, transfer, [userId])
  const emptyIds = await lockEmptyChannels(em, channelIds)
  const reactions = { table: 'dm_reactions', messages: 'dm_messages', on: 'm.channel_id = any(?::bigint[])' }
  await deleteReactions(em, { ...reactions, parameters: [mode === 'full' ? userId : null, bigintArray(emptyIds)] })
  if (emptyIds.length > 0) await purgeChannels(em, bigintArray(emptyIds))
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** New messages there do not wait. */
async function lockChannels(em: EntityManager, userId: string): Promise<string[]> {
  const sql = `select c.id::text as id from dm_channels c
    where c.id in (select id from dm_channels where owner_id = ? union select channel_id from dm_members where user_id = ?)
    order by c.id for no key update`
  return idsOf(await read(em, sql, [userId, userId]))
}

/** Reads twice: the stronger lock waits for a member who is just joining. */
async function lockEmptyChannels(em: EntityManager, channelIds: string[]): Promise<string[]> {
  if (channelIds.length === 0) return []
  const empty = `select c.id::text as id from dm_channels c where c.id = any(?::bigint[])
    and not exists (select from dm_members m where m.channel_id = c.id) order by c.id`
  const candidates = idsOf(await read(em, `${empty} for update of c`, [bigintArray(channelIds)]))
  return candidates.length === 0 ? [] : idsOf(await read(em, empty, [bigintArray(candidates)]))
}

async function purgeChannels(em: EntityManager, ids: string): Promise<void> {
  const attachments = `delete from dm_attachments a using dm_messages m
    where m.id = a.message_id and m.channel_id = any(?::bigint[]) returning a.filename`
  await deleteFiles(em, attachments, [ids])
  await changeRows(em, 'delete from dm_messages where channel_id = any(?::bigint[])', [ids])
  await changeRows(em, 'delete from dm_channels where id = any(?::bigint[])', [ids])
}

/** Messages and reactions in spaces. Spec: Tombstone, full mode; Contract: 3, DELETE self. */
export async function purgeSpaceContent(em: EntityManager, userId: string): Promise<void> {
  const attachments = `delete from message_attachments a using messages m
    where m.id = a.message_id and m.author_id = ? returning a.filename`
  await deleteFiles(em, attachments, [userId])
  const embeds = 'delete from message_embeds e using messages m where m.id = e.message_id and m.author_id = ?'
  await changeRows(em, embeds, [userId])
  const reactions = { table: 'message_reactions', messages: 'messages', on: 'm.author_id = ?' }
  await deleteReactions(em, { ...reactions, parameters: [userId, userId] })
  await changeRows(em, 'delete from messages where author_id = ?', [userId])
}

/** `on`: which messages; `parameters`: the user, or null, and that of `on`. */
type Reactions = { table: string; messages: string; on: string; parameters: [string | null, string] }

/** Of a user, and on messages. Locked in the order of their key: two deleted users may have reacted to each other. */
async function deleteReactions(em: EntityManager, { table, messages, on, parameters }: Reactions): Promise<void> {
  const sql = `with locked as (
      select r.message_id, r.user_id, r.emoji from ${table} r
      where (r.message_id, r.user_id, r.emoji) in (
        select message_id, user_id, emoji from ${table} where user_id = ?::bigint
        union
        select o.message_id, o.user_id, o.emoji from ${table} o join ${messages} m on m.id = o.message_id where ${on}
      )
      order by r.message_id, r.user_id, r.emoji for update
    )
    delete from ${table} r using locked l
    where r.message_id = l.message_id and r.user_id = l.user_id and r.emoji = l.emoji`
  await changeRows(em, sql, parameters)
}
