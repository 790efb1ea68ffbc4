import { changeRows, selectRows } from '@gatehouse/database'
import type { DeletionMode } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * Takes the user out of every direct message: groups pass to the member who has been there longest, and channels that
 * nobody is left in are purged with all they hold. Full mode also takes back the user's reactions. Spec: Tombstone.
 */
export async function leaveDirectMessages(em: EntityManager, userId: string, mode: DeletionMode): Promise<void> {
  const channels = await lockChannels(em, userId)
  await changeRows(em, 'delete from dm_members where user_id = ?', [userId])
  await passOnGroups(em, userId)
  const abandoned = await lockAbandoned(em, channels)
  await deleteReactions(em, { userId: mode === 'full' ? userId : null, abandoned })
  if (abandoned !== none) await purgeChannels(em, abandoned)
}

/** Ids as Postgres reads an array. */
type IdList = `{${string}}`
const none: IdList = '{}'
const listOf = (rows: readonly { id: string }[]): IdList => `{${rows.map((row) => row.id).join(',')}}`

/** In the order of ids, and without keeping others from writing there. */
async function lockChannels(em: EntityManager, userId: string): Promise<IdList> {
  const rows = await selectRows<{ id: string }>(
    em,
    `select c.id::text as id from dm_channels c
     where c.owner_id = ? or c.id in (select channel_id from dm_members where user_id = ?)
     order by c.id for no key update`,
    [userId, userId],
  )
  return listOf(rows)
}

async function passOnGroups(em: EntityManager, userId: string): Promise<void> {
  await changeRows(
    em,
    `update dm_channels c set owner_id = (
       select m.user_id from dm_members m where m.channel_id = c.id order by m.joined_at, m.user_id limit 1
     )
     where c.owner_id = ?`,
    [userId],
  )
}

/** Looks twice: somebody may be joining, which the stronger lock waits for. */
async function lockAbandoned(em: EntityManager, channels: IdList): Promise<IdList> {
  if (channels === none) return none
  const empty = `select c.id::text as id from dm_channels c where c.id = any(?::bigint[])
    and not exists (select from dm_members m where m.channel_id = c.id) order by c.id`
  const candidates = listOf(await selectRows<{ id: string }>(em, `${empty} for update of c`, [channels]))
  return candidates === none ? none : listOf(await selectRows<{ id: string }>(em, empty, [candidates]))
}

/** As in spaces: locked in the order of their key before any goes. */
async function deleteReactions(em: EntityManager, of: { userId: string | null; abandoned: IdList }): Promise<void> {
  await changeRows(
    em,
    `with doomed as (
       select r.message_id, r.user_id, r.emoji from dm_reactions r
       where (r.message_id, r.user_id, r.emoji) in (
         select message_id, user_id, emoji from dm_reactions where user_id = ?::bigint
         union
         select o.message_id, o.user_id, o.emoji from dm_reactions o
         join dm_messages m on m.id = o.message_id where m.channel_id = any(?::bigint[])
       )
       order by r.message_id, r.user_id, r.emoji for update
     )
     delete from dm_reactions r using doomed d
     where r.message_id = d.message_id and r.user_id = d.user_id and r.emoji = d.emoji`,
    [of.userId, of.abandoned],
  )
}

async function purgeChannels(em: EntityManager, abandoned: IdList): Promise<void> {
  await changeRows(
    em,
    `with gone as (
       delete from dm_attachments a using dm_messages m
       where m.id = a.message_id and m.channel_id = any(?::bigint[]) returning a.filename
     )
     insert into file_removals (filename) select filename from gone`,
    [abandoned],
  )
  await changeRows(em, 'delete from dm_messages where channel_id = any(?::bigint[])', [abandoned])
  await changeRows(em, 'delete from dm_channels where id = any(?::bigint[])', [abandoned])
}
