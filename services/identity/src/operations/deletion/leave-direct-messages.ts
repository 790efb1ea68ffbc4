import type { DeletionMode } from '@gatehouse/contracts'
import { bigintArray, changeRows, read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import { deleteFiles, deleteReactions } from './purge-content.ts'

/**
 * Groups pass to the member who joined first. Channels without members are purged. Full mode also deletes the user's
 * reactions. Spec: Tombstone.
 */
export async function leaveDirectMessages(em: EntityManager, userId: string, mode: DeletionMode): Promise<void> {
  const channelIds = await lockChannels(em, userId)
  await changeRows(em, 'delete from dm_members where user_id = ?', [userId])
  await transferGroups(em, userId)
  const emptyIds = await lockEmptyChannels(em, channelIds)
  await deleteReactions(em, {
    ...{ table: 'dm_reactions', messages: 'dm_messages', on: 'm.channel_id = any(?::bigint[])' },
    parameters: [mode === 'full' ? userId : null, bigintArray(emptyIds)],
  })
  if (emptyIds.length > 0) await purgeChannels(em, bigintArray(emptyIds))
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** New messages there do not wait. */
async function lockChannels(em: EntityManager, userId: string): Promise<string[]> {
  const sql = `select c.id::text as id from dm_channels c
    where c.owner_id = ? or c.id in (select channel_id from dm_members where user_id = ?)
    order by c.id for no key update`
  return idsOf(await read(em, sql, [userId, userId]))
}

async function transferGroups(em: EntityManager, userId: string): Promise<void> {
  const sql = `update dm_channels c set owner_id = (
      select m.user_id from dm_members m where m.channel_id = c.id order by m.joined_at, m.user_id limit 1
    )
    where c.owner_id = ?`
  await changeRows(em, sql, [userId])
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
  await deleteFiles(em, {
    sql: `delete from dm_attachments a using dm_messages m
      where m.id = a.message_id and m.channel_id = any(?::bigint[]) returning a.filename`,
    parameters: [ids],
  })
  await changeRows(em, 'delete from dm_messages where channel_id = any(?::bigint[])', [ids])
  await changeRows(em, 'delete from dm_channels where id = any(?::bigint[])', [ids])
}
