import type { EntityManager } from '@mikro-orm/postgresql'
import { selectRows } from './rows.ts'

/** Those on one session gateway who are to see the presence of `userId`. */
export type PresentAudience = { userId: string; nodeId: string; recipients: string[] }

/**
 * Who is connected, and where, of those who may see the presence of the given users: friends, DM co-members and space
 * co-members, never the user themselves. Contract: 6, presence_update.
 */
export async function readPresentAudience(em: EntityManager, userIds: readonly string[]): Promise<PresentAudience[]> {
  if (userIds.length === 0) return []
  type Row = { user_id: string; node_id: string; recipients: string }
  const rows = await selectRows<Row>(
    em,
    `select me.id::text as user_id, presences.node_id::text, string_agg(other.id::text, ',') as recipients
     from unnest(?::bigint[]) as me (id)
     cross join lateral (
       select friend_id from friendships where user_id = me.id
       union select user_id from friendships where friend_id = me.id
       union select theirs.user_id from dm_members mine join dm_members theirs using (channel_id)
         where mine.user_id = me.id
       union select theirs.user_id from space_members mine join space_members theirs using (space_id)
         where mine.user_id = me.id
     ) as other (id)
     join presences on presences.user_id = other.id
     where other.id <> me.id
     group by 1, 2`,
    [`{${userIds.join(',')}}`],
  )
  return rows.map((row) => ({ userId: row.user_id, nodeId: row.node_id, recipients: row.recipients.split(',') }))
}
