import type { AccountState } from '@gatehouse/contracts'
import { bigintArray, columnsOf, read, shortTransaction, violates } from '@gatehouse/database'
import type { EntityColumns, ShortTransaction } from '@gatehouse/database'
import { User, accountStateOf, plainUserProperties, type PlainUser } from '@gatehouse/domain'
import type { OperationContext } from '../context.ts'
import { readAudience, type Audience, type PresentUsers } from './audience.ts'

export type UserSnapshot = { user: PlainUser; state: AccountState; instanceName: string; instanceId: string }

/** `version` rises with every change of the same user. */
export type PresenceChange = { userId: string; status: 'online' | 'offline'; version: number }

export type PresenceWrite = {
  online: readonly string[]
  offline: readonly string[]
  /** The last change of these may be unpublished. Their status is always given. */
  unconfirmed: readonly string[]
}

export type PresenceTransaction = {
  /** Skips accounts that another transaction has locked. */
  lockUsers(userIds: readonly string[]): Promise<Map<string, UserSnapshot>>
  findExisting(userIds: readonly string[]): Promise<string[]>
  /** Commits. Throws NodeNotRegistered. */
  write(nodeId: string, users: PresenceWrite): Promise<PresenceChange[]>
}

/** Design: docs/decisions/presence-in-postgres.md. */
export type PresenceStore = {
  /** Rolls back where `work` has written nothing. */
  transaction<T>(work: (transaction: PresenceTransaction) => Promise<T>): Promise<T>
  /** Read it after the commit: of two users who connect at once, the later reader sees the other. */
  readAudience(userIds: readonly string[], present: PresentUsers): Promise<Audience>
  findConnected(userIds: readonly string[]): Promise<Set<string>>
}

/** Another node has evicted this one. */
export class NodeNotRegistered extends Error {
  override readonly name = 'NodeNotRegistered'
}

export function createPresenceStore(context: Pick<OperationContext, 'orm' | 'timings'>): PresenceStore {
  const columns = columnsOf(context.orm.em, User, plainUserProperties)
  return {
    transaction: (work) =>
      shortTransaction(context.orm.em, (transaction) =>
        work({
          lockUsers: (userIds) => lockUsers(transaction, columns, userIds),
          findExisting: (userIds) => findExisting(transaction, userIds),
          write: (nodeId, users) => writePresences(transaction, nodeId, users),
        }),
      ),
    readAudience: (userIds, present) => readAudience(context, userIds, present),
    findConnected: async (userIds) => {
      const sql = 'select user_id::text as id from presences where user_id = any(?::bigint[])'
      const rows = await read<{ id: string }>(context.orm.em.fork(), sql, [bigintArray(userIds)])
      return new Set(rows.map(({ id }) => id))
    },
  }
}

/** The locks precede the write, so two nodes cannot miss each other's change. Contract: 6, status. */
async function lockUsers(
  transaction: ShortTransaction,
  columns: EntityColumns<User, keyof PlainUser>,
  userIds: readonly string[],
): Promise<Map<string, UserSnapshot>> {
  type Row = { instance_name: string; instance_id: string }
  const rows = await transaction.read<Row>(
    `select ${columns.sql}, instance_name, instance_id from users cross join instance_settings
     where users.id = any(?::bigint[]) order by users.id for no key update of users skip locked`,
    [bigintArray(userIds)],
  )
  return new Map(
    rows.map((row) => {
      const user = columns.read(row)
      const { instance_name: instanceName, instance_id: instanceId } = row
      return [user.id, { user, state: accountStateOf(user), instanceName, instanceId }]
    }),
  )
}

async function findExisting(transaction: ShortTransaction, userIds: readonly string[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const query = 'select id::text from users where id = any(?::bigint[])'
  const rows = await transaction.read<{ id: string }>(query, [bigintArray(userIds)])
  return rows.map((row) => row.id)
}

/** The evicting node announced the removal of a missing row. Nobody announced an unconfirmed change. */
async function writePresences(
  transaction: ShortTransaction,
  nodeId: string,
  { online, offline, unconfirmed }: PresenceWrite,
): Promise<PresenceChange[]> {
  if (online.length + offline.length === 0) return []
  type Row = { user_id: string; status: 'online' | 'offline'; version: string }
  const lost = new Set(unconfirmed)
  const lostOf = (userIds: readonly string[]) => userIds.filter((id) => lost.has(id))
  const changes = [
    ...(online.length > 0 ? [addOnline(nodeId, online, lostOf(online))] : []),
    ...(offline.length > 0 ? [removeOffline(nodeId, offline, lostOf(offline))] : []),
  ]
  const write = transaction.commitWith<Row>(
    `with ${changes.map(({ steps }) => steps).join(', ')}
     select id::text as user_id, status, nextval('presence_versions')::text as version
     from (${changes.map(({ result }) => result).join(' union all ')}) as changes`,
    changes.flatMap(({ parameters }) => parameters),
  )
  const rows = await write.catch((error: unknown) => {
    if (!violates(error, 'presences_node_id_fkey')) throw error
    throw new NodeNotRegistered('this session gateway was evicted', { cause: error })
  })
  return rows.map((row) => ({ userId: row.user_id, status: row.status, version: Number(row.version) }))
}

type StatusChange = { steps: string; result: string; parameters: string[] }

function addOnline(nodeId: string, userIds: readonly string[], unconfirmed: readonly string[]): StatusChange {
  const steps = `added as (
      insert into presences (user_id, node_id) select unnest(?::bigint[]), ?::uuid on conflict do nothing
    ), shown as (
      update users set status = 'online' where id = any(?::bigint[]) and status <> 'online' returning id
    )`
  const ids = bigintArray(userIds)
  const change = { steps, result: `select id, 'online' as status from shown`, parameters: [ids, nodeId, ids] }
  if (unconfirmed.length === 0) return change
  const present = `present as (select id, 'online' as status from unnest(?::bigint[]) as lost (id))`
  return withStatuses(change, { step: present, name: 'present', parameters: [bigintArray(unconfirmed)] })
}

function removeOffline(nodeId: string, userIds: readonly string[], unconfirmed: readonly string[]): StatusChange {
  const steps = `removed as (
      delete from presences where user_id = any(?::bigint[]) and node_id = ?::uuid returning user_id
    ), hidden as (
      update users set status = 'offline' from removed
      where users.id = removed.user_id and not exists (
        select from presences where presences.user_id = users.id and presences.node_id <> ?::uuid)
      returning users.id
    )`
  const parameters = [bigintArray(userIds), nodeId, nodeId]
  const change = { steps, result: `select id, 'offline' as status from hidden`, parameters }
  if (unconfirmed.length === 0) return change
  const left = `left_here as (
      select id, case when exists (select from presences where user_id = lost.id and node_id <> ?::uuid)
        then 'online' else 'offline' end as status
      from unnest(?::bigint[]) as lost (id)
    )`
  return withStatuses(change, { step: left, name: 'left_here', parameters: [nodeId, bigintArray(unconfirmed)] })
}

/** `union` gives no user twice. */
function withStatuses(
  { steps, result, parameters }: StatusChange,
  statuses: { step: string; name: string; parameters: string[] },
): StatusChange {
  return {
    steps: `${steps}, ${statuses.step}`,
    result: `${result} union select id, status from ${statuses.name}`,
    parameters: [...parameters, ...statuses.parameters],
  }
}
