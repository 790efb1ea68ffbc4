import type { EntityManager } from '@mikro-orm/postgresql'
import { selectRows, type PresentAudience, readPresentAudience } from '@gatehouse/database'
import { userColumns, userFacts, type UserFacts, type UserRow } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

/** A user as the database has them, and what the instance calls itself. */
export type Person = { user: UserFacts; instanceName: string; instanceId: string }

/** A user came or went. `version` rises with every change of the same user. */
export type PresenceChange = { userId: string; status: 'online' | 'offline'; version: number }

export type Settling = {
  nodeId: string
  /** Users who have sockets here. */
  arrivals: readonly string[]
  /** Users who have none any more. */
  departures: readonly string[]
  /** Whether an arrival is let in, now that the truth is known; the account is locked meanwhile. */
  isWelcome(user: UserFacts): boolean
  /** Whether an arrival that is not let in is to be written off, for nobody else of theirs is here. */
  isDue(userId: string): boolean
  /** Nothing is committed any more once it is aborted. */
  signal: AbortSignal
}

export type Settled = {
  people: Map<string, Person>
  /** Arrivals who were let in. */
  welcome: string[]
  /** Departures that are done. */
  gone: string[]
  /** Rows that another transaction holds: to be tried again. */
  locked: string[]
  changes: PresenceChange[]
}

/**
 * Writes down who is on this node and who is not any more, and what follows for their status. Any number of users at
 * once. The accounts are locked first and looked at by a later statement, so that comings and goings on several nodes
 * cannot both miss each other. It never waits for a lock. Contract: 6, status.
 */
export async function settlePresence({ orm }: Pick<Deps, 'orm'>, settling: Settling): Promise<Settled> {
  return await orm.em.fork().transactional(async (em) => {
    const people = await lockPeople(em, [...settling.arrivals, ...settling.departures])
    const welcome = settling.arrivals.filter((id) => {
      const person = people.get(id)
      return person !== undefined && !person.user.isDeleted && settling.isWelcome(person.user)
    })
    const isIn = new Set(welcome)
    const writtenOff = settling.arrivals.filter((id) => !isIn.has(id) && settling.isDue(id))
    const gone = [...settling.departures, ...writtenOff].filter((id) => people.has(id))
    settling.signal.throwIfAborted()
    const changes = await writePresences(em, settling.nodeId, { welcome, gone })
    const locked = await findLocked(em, settling, people)
    settling.signal.throwIfAborted()
    return { people, welcome, gone, locked, changes }
  })
}

/**
 * Who is to hear of changes and to be told of in `ready`. Read it after the commit of the change: of two users who come at
 * the same time, the one who reads later sees the other, and the other's node is told.
 */
export async function readAudience({ orm }: Pick<Deps, 'orm'>, userIds: readonly string[]): Promise<PresentAudience[]> {
  return await readPresentAudience(orm.em.fork(), userIds)
}

async function lockPeople(em: EntityManager, userIds: readonly string[]): Promise<Map<string, Person>> {
  type Row = UserRow & { instance_name: string; instance_id: string }
  const rows = await selectRows<Row>(
    em,
    `select ${userColumns}, instance_name, instance_id from users cross join instance_settings
     where users.id = any(?::bigint[]) order by users.id for no key update of users skip locked`,
    [bigints(userIds)],
  )
  const people = rows.map((row): [string, Person] => {
    return [row.id, { user: userFacts(row), instanceName: row.instance_name, instanceId: row.instance_id }]
  })
  return new Map(people)
}

/** A row that is not ours any more was not there, or was lost with this node: then somebody else has told of it. */
async function writePresences(
  em: EntityManager,
  nodeId: string,
  { welcome, gone }: { welcome: readonly string[]; gone: readonly string[] },
): Promise<PresenceChange[]> {
  if (welcome.length + gone.length === 0) return []
  type Row = { user_id: string; status: 'online' | 'offline'; version: string }
  const rows = await selectRows<Row>(
    em,
    `with input as (select ?::uuid as node_id, ?::bigint[] as welcome, ?::bigint[] as gone), came as (
       insert into presences (user_id, node_id) select unnest(welcome), node_id from input on conflict do nothing
     ), shown as (
       update users set status = 'online' from input where id = any(welcome) and status <> 'online' returning id
     ), removed as (
       delete from presences using input
       where user_id = any(gone) and presences.node_id = input.node_id returning user_id
     ), hidden as (
       update users set status = 'offline' from removed, input
       where users.id = removed.user_id and not exists (
         select from presences where presences.user_id = users.id and presences.node_id <> input.node_id)
       returning users.id
     )
     select id::text as user_id, status, nextval('presence_versions')::text as version
     from (select id, 'online' as status from shown union all select id, 'offline' from hidden) as changes`,
    [nodeId, bigints(welcome), bigints(gone)],
  )
  return rows.map((row) => ({ userId: row.user_id, status: row.status, version: Number(row.version) }))
}

/** Of those whose row did not come, the ones that exist. */
async function findLocked(em: EntityManager, settling: Settling, people: Map<string, Person>): Promise<string[]> {
  const missing = [...settling.arrivals, ...settling.departures].filter((id) => !people.has(id))
  if (missing.length === 0) return []
  const rows = await selectRows<{ id: string }>(em, 'select id::text from users where id = any(?::bigint[])', [
    bigints(missing),
  ])
  return rows.map((row) => row.id)
}

/** Ids as one parameter. */
export function bigints(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}
