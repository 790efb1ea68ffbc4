import { bigintArray, read } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'

/** One list for each space, however many users are in it. Contract: 6, presence_update. */
export type Audience = {
  spacesOf: ReadonlyMap<string, readonly string[]>
  membersOf: ReadonlyMap<string, readonly string[]>
  /** Friends and DM co-members. */
  linkedTo: ReadonlyMap<string, readonly string[]>
}

/** `linkedOnly`: users whose spaces are left out. */
export type AudienceOf = { userIds: readonly string[]; linkedOnly?: readonly string[] }

/** `everywhereAnd` adds users to those connected on any node. */
export type PresentUsers = { onNode: string } | { everywhereAnd: readonly string[] }

export const emptyAudience: Audience = { spacesOf: new Map(), membersOf: new Map(), linkedTo: new Map() }

/** The database cancels it after `databaseLimitMs`. */
export async function readAudience(
  { orm, timings }: Pick<OperationContext, 'orm' | 'timings'>,
  { userIds, linkedOnly = [] }: AudienceOf,
  present: PresentUsers,
): Promise<Audience> {
  if (userIds.length + linkedOnly.length === 0) return emptyAudience
  const { sql, parameters } = presences(present)
  const rows = await read<{ kind: 'spaces' | 'members' | 'linked'; id: string; ids: string }>(
    orm.em,
    `with input as materialized (select ?::bigint[] as ids, ?::bigint[] as shared), present (user_id) as not materialized (${sql}),
     membership as materialized (
       select user_id, space_id from space_members where user_id = any((select shared from input)::bigint[])
     ), link as (
       select user_id, friend_id as other from friendships where user_id = any((select ids from input)::bigint[])
       union select friend_id, user_id from friendships where friend_id = any((select ids from input)::bigint[])
       union select mine.user_id, theirs.user_id from dm_members mine join dm_members theirs using (channel_id)
         where mine.user_id = any((select ids from input)::bigint[]) and theirs.user_id <> mine.user_id
     ), members as (
       select distinct space_id, present.user_id from (select distinct space_id from membership) as spaces
       join space_members using (space_id) join present using (user_id)
     )
     select 'spaces' as kind, user_id::text as id, string_agg(space_id::text, ',' order by space_id) as ids
     from membership group by user_id
     union all select 'members', space_id::text, string_agg(user_id::text, ',') from members group by space_id
     union all select 'linked', link.user_id::text, string_agg(distinct other::text, ',')
       from link join present on present.user_id = other group by link.user_id`,
    [bigintArray([...userIds, ...linkedOnly]), bigintArray(userIds), ...parameters],
    { statementMs: timings.databaseLimitMs, workMem: policy.audienceWorkMem },
  )
  const ofKind = (kind: string) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ id, ids }) => [id, ids.split(',')] as const))
  return { spacesOf: ofKind('spaces'), membersOf: ofKind('members'), linkedTo: ofKind('linked') }
}

function presences(present: PresentUsers): { sql: string; parameters: string[] } {
  const sql = 'select user_id from presences'
  // The planner then looks a few users up one by one.
  if ('onNode' in present) return { sql: `${sql} where node_id = ?`, parameters: [present.onNode] }
  if (present.everywhereAnd.length === 0) return { sql, parameters: [] }
  return { sql: `${sql} union all select unnest(?::bigint[])`, parameters: [bigintArray(present.everywhereAnd)] }
}

/** By index, whatever the size of the spaces. */
export async function findVisible(
  { orm }: Pick<OperationContext, 'orm'>,
  userId: string,
  { userIds, alsoOnline }: { userIds: readonly string[]; alsoOnline: readonly string[] },
): Promise<string[]> {
  if (userIds.length === 0) return []
  const rows = await read<{ id: string }>(
    orm.em,
    `with input as materialized (select ?::bigint as id), present (user_id) as (
       select user_id from presences where user_id = any(?::bigint[]) union select unnest(?::bigint[])
     )
     select user_id::text as id from present
     where user_id = (select id from input)
       or exists (select from friendships where user_id = (select id from input) and friend_id = present.user_id)
       or exists (select from friendships where friend_id = (select id from input) and user_id = present.user_id)
       or exists (select from dm_members mine join dm_members theirs using (channel_id)
         where mine.user_id = (select id from input) and theirs.user_id = present.user_id)
       or exists (select from space_members mine join space_members theirs using (space_id)
         where mine.user_id = (select id from input) and theirs.user_id = present.user_id)`,
    [userId, bigintArray(userIds), bigintArray(alsoOnline)],
  )
  return rows.map(({ id }) => id)
}

/** Includes the user, who shares spaces with themselves. */
export function observersOf({ spacesOf, membersOf, linkedTo }: Audience, userId: string): Set<string> {
  const sharing = (spacesOf.get(userId) ?? []).flatMap((spaceId) => membersOf.get(spaceId) ?? [])
  return new Set([...sharing, ...(linkedTo.get(userId) ?? [])])
}

/** Of the JSON object `presences`, without braces. */
export type VisibleUsers = { shared: Buffer; others: Buffer; has(userId: string): boolean }

/** Users with the same spaces share one encoded list. */
export function createVisibleUsers(audience: Audience): (userId: string) => VisibleUsers {
  const lists = new Map<string, { ids: ReadonlySet<string>; json: Buffer }>()

  function sharedBy(spaceIds: readonly string[]) {
    const key = spaceIds.join(',')
    const sharedList = lists.get(key)
    if (sharedList) return sharedList
    const ids = new Set(spaceIds.flatMap((spaceId) => audience.membersOf.get(spaceId) ?? []))
    const list = { ids, json: encodePresences([...ids]) }
    lists.set(key, list)
    return list
  }

  return (userId) => {
    const { ids, json } = sharedBy(audience.spacesOf.get(userId) ?? [])
    const linked = new Set([userId, ...(audience.linkedTo.get(userId) ?? [])])
    const others = [...linked].filter((id) => !ids.has(id))
    return { shared: json, others: encodePresences(others), has: (id) => ids.has(id) || linked.has(id) }
  }
}

export function encodePresences(ids: readonly string[]): Buffer {
  return Buffer.from(ids.map((id) => `"${id}":"online"`).join(','))
}
