import type { EntityManager } from '@mikro-orm/postgresql'
import { bigintArray, selectRows } from './rows.ts'

/** The users on one session gateway who are to see the presence of `userId`. */
export type PresentAudience = { userId: string; nodeId: string; recipients: string[] }

/**
 * The connected users, with their nodes, who may see the presence of the given users: friends, DM co-members and space
 * co-members; with `withThemselves` also the users, where they are connected. Contract: 6, presence_update.
 */
export async function readPresentAudience(
  em: EntityManager,
  userIds: readonly string[],
  { withThemselves = false } = {},
): Promise<PresentAudience[]> {
  if (userIds.length === 0) return []
  type Row = { user_id: string; node_id: string; recipients: string }
  const rows = await selectRows<Row>(
    em,
    `with input as materialized (select ?::bigint[] as ids), audience as (
       select friendships.user_id, node_id, friend_id as recipient
       from friendships join presences on presences.user_id = friend_id
       where friendships.user_id = any((select ids from input)::bigint[])
       union
       select friend_id, node_id, friendships.user_id
       from friendships join presences on presences.user_id = friendships.user_id
       where friend_id = any((select ids from input)::bigint[])
       union
       select mine.user_id, node_id, theirs.user_id
       from dm_members mine join dm_members theirs using (channel_id)
       join presences on presences.user_id = theirs.user_id
       where mine.user_id = any((select ids from input)::bigint[])
       union
       select mine.user_id, node_id, theirs.user_id
       from space_members mine join space_members theirs using (space_id)
       join presences on presences.user_id = theirs.user_id
       where mine.user_id = any((select ids from input)::bigint[])
       union
       select user_id, node_id, user_id from presences where user_id = any((select ids from input)::bigint[])
     )
     select user_id::text, node_id::text, string_agg(recipient::text, ',') as recipients
     from audience where ? or recipient <> user_id group by 1, 2`,
    [bigintArray(userIds), withThemselves],
  )
  return rows.map((row) => ({ userId: row.user_id, nodeId: row.node_id, recipients: row.recipients.split(',') }))
}
