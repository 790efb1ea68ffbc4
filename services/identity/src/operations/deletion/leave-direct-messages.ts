import { bigintArray, changeRows, selectRows } from '@gatehouse/database'
import type { DeletionMode } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * Removes the user from all direct messages: groups pass to the member who joined first, and channels without members are
 * purged with all they hold. Full mode also deletes the user's reactions. Spec: Tombstone.
 */
export async function leaveDirectMessages(em: EntityManager, userId: string, mode: DeletionMode): Promise<void> {
  const channelIds = await lockChannels(em, userId)
  await changeRows(em, 'delete from dm_members where user_id = ?', [userId])
  await transferGroups(em, userId)
  const emptyIds = await lockEmptyChannels(em, channelIds)
  await deleteDmReactions(em, { userId: mode === 'full' ? userId : null, channelIds: emptyIds })
  if (emptyIds.length > 0) await purgeChannels(em, emptyIds)
}

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** In the order of ids, and without blocking new messages there. */
async function lockChannels(em: EntityManager, userId: string): Promise<string[]> {
  const rows = await selectRows<{ id: string }>(
    em,
    `select c.id::text as id from dm_channels c
     where c.owner_id = ? or c.id in (select channel_id from dm_members where user_id = ?)
     order by c.id for no key update`,
    [userId, userId],
  )
  return idsOf(rows)
}

async function transferGroups(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `update dm_channels c set owner_id = (
       select m.user_id from dm_members m where m.channel_id = c.id order by m.joined_at, m.user_id limit 1
     )
     where c.owner_id = ?`,
    [userId],
  )
}

/** Reads twice: the stronger lock waits for a member who is just joining. */
async function lockEmptyChannels(em: EntityManager, channelIds: string[]): Promise<string[]> {
  if (channelIds.length === 0) return []
  const empty = `select c.id::text as id from dm_channels c where c.id = any(?::bigint[])
    and not exists (select from dm_members m where m.channel_id = c.id) order by c.id`
  const candidates = idsOf(await selectRows(em, `${empty} for update of c`, [bigintArray(channelIds)]))
  return candidates.length === 0 ? [] : idsOf(await selectRows(em, empty, [bigintArray(candidates)]))
}

type ReactionsOf = { userId: string | null; channelIds: string[] }

/** As in spaces: locked in the order of their key before any is deleted. */
async function deleteDmReactions(em: EntityManager, { userId, channelIds }: ReactionsOf): Promise<void> {
  await changeRows(
    em,
    `with locked as (
       select r.message_id, r.user_id, r.emoji from dm_reactions r
       where (r.message_id, r.user_id, r.emoji) in (
         select message_id, user_id, emoji from dm_reactions where user_id = ?::bigint
         union
         select o.message_id, o.user_id, o.emoji from dm_reactions o
         join dm_messages m on m.id = o.message_id where m.channel_id = any(?::bigint[])
       )
       order by r.message_id, r.user_id, r.emoji for update
     )
     delete from dm_reactions r using locked l
     where r.message_id = l.message_id and r.user_id = l.user_id and r.emoji = l.emoji`,
    [userId, bigintArray(channelIds)],
  )
}

async function purgeChannels(em: EntityManager, channelIds: string[]): Promise<void> {
  const ids = bigintArray(channelIds)
  await changeRows(
    em,
    `with deleted as (
       delete from dm_attachments a using dm_messages m
       where m.id = a.message_id and m.channel_id = any(?::bigint[]) returning a.filename
     )
     insert into file_removals (filename) select filename from deleted`,
    [ids],
  )
  await changeRows(em, 'delete from dm_messages where channel_id = any(?::bigint[])', [ids])
  await changeRows(em, 'delete from dm_channels where id = any(?::bigint[])', [ids])
}
