import { bigintArray, read } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'

/** A space has one list, however many of the users are in it. Contract: 6, presence_update. */
export type Audience = {
  spacesOf: ReadonlyMap<string, readonly string[]>
  membersOf: ReadonlyMap<string, readonly string[]>
  /** Friends and DM co-members. */
  linkedTo: ReadonlyMap<string, readonly string[]>
}

/** `everywhereAnd` adds users to those connected on any node. */
export type PresentUsers = { onNode: string } | { everywhereAnd: readonly string[] }

export const emptyAudience: Audience = { spacesOf: new Map(), membersOf: new Map(), linkedTo: new Map() }

/** A later audience replaces entries of an earlier one. */
export function mergeAudiences(audiences: readonly Audience[]): Audience {
  const merge = (name: keyof Audience) => new Map(audiences.flatMap((one) => [...one[name]]))
  return { spacesOf: merge('spacesOf'), membersOf: merge('membersOf'), linkedTo: merge('linkedTo') }
}

/** Undefined above `atMost` links. */
export function listRecipients(
  { spacesOf, membersOf, linkedTo }: Audience,
  userId: string,
  atMost: number,
): string[] | undefined {
  const inSpaces = (spacesOf.get(userId) ?? []).map((spaceId) => membersOf.get(spaceId) ?? [])
  const lists = [linkedTo.get(userId) ?? [], ...inSpaces]
  const total = lists.reduce((sum, list) => sum + list.length, 0)
  return total > atMost ? undefined : [...new Set(lists.flat())].filter((id) => id !== userId)
}

type Kind = 'spaces' | 'members' | 'linked'

/** The database cancels it after `databaseLimitMs`. */
export async function readAudience(
  { orm, timings }: Pick<OperationContext, 'orm' | 'timings'>,
  userIds: readonly string[],
  present: PresentUsers,
): Promise<Audience> {
  if (userIds.length === 0) return audienceOf([])
  const { sql, parameters } = 'onNode' in present ? onNode(present.onNode) : everywhere(present.everywhereAnd)
  type Row = { kind: Kind; id: string; ids: string }
  const rows = await read<Row>(
    orm.em,
    `with input as materialized (select ?::bigint[] as ids), present (user_id) as not materialized (${sql}),
     membership as materialized (
       select user_id, space_id from space_members where user_id = any((select ids from input)::bigint[])
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
    [bigintArray(userIds), ...parameters],
    { statementMs: timings.databaseLimitMs, workMem: policy.audienceWorkMem },
  )
  return audienceOf(rows)
}

/** The planner looks up a few users one by one instead of reading all present ones. */
function onNode(nodeId: string) {
  return { sql: 'select user_id from presences where node_id = ?', parameters: [nodeId] }
}

function everywhere(others: readonly string[]) {
  const presences = 'select user_id from presences'
  if (others.length === 0) return { sql: presences, parameters: [] }
  return { sql: `${presences} union all select unnest(?::bigint[])`, parameters: [bigintArray(others)] }
}

function audienceOf(rows: readonly { kind: Kind; id: string; ids: string }[]): Audience {
  const ofKind = (kind: Kind) =>
    new Map(rows.filter((row) => row.kind === kind).map((row) => [row.id, row.ids.split(',')] as const))
  return { spacesOf: ofKind('spaces'), membersOf: ofKind('members'), linkedTo: ofKind('linked') }
}
