import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Contract: 6, presence_update. */
export async function listPresentAudience(em: EntityManager, userId: string): Promise<string[]> {
  const rows = await read<{ user_id: string }>(
    em,
    `with input as materialized (select ?::bigint as id), linked (user_id) as (
       select friend_id from friendships where user_id = (select id from input)
       union
       select user_id from friendships where friend_id = (select id from input)
       union
       select theirs.user_id from dm_members mine join dm_members theirs using (channel_id)
       where mine.user_id = (select id from input)
       union
       select theirs.user_id from space_members mine join space_members theirs using (space_id)
       where mine.user_id = (select id from input)
     )
     select distinct user_id::text from linked join presences using (user_id)
     where user_id <> (select id from input)`,
    [userId],
  )
  return rows.map((row) => row.user_id)
}
