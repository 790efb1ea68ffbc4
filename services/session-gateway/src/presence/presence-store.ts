import type { AccountState, PresenceMessage } from '@gatehouse/contracts'
import { bigintArray, columnsOf, read, shortTransaction, violates } from '@gatehouse/database'
import type { EntityColumns, ShortTransaction } from '@gatehouse/database'
import { User, accountStateOf, plainUserProperties, type PlainUser } from '@gatehouse/domain'
import type { OperationContext } from '../context.ts'
import { findVisible, readAudience, type AudienceOf, type PresentUsers } from './audience.ts'

export type UserSnapshot = { user: PlainUser; state: AccountState; instanceName: string; instanceId: string }

export type PresenceChange = { userId: string; status: 'online' | 'offline' }
export type PresenceWrite = { online: readonly string[]; offline: readonly string[] }

export type PresenceStore = ReturnType<typeof createPresenceStore>

/** The statements of presence, without any state. Design: docs/decisions/presence.md. */
export function createPresenceStore(context: Pick<OperationContext, 'orm' | 'timings'>) {
  const { em } = context.orm
  const columns = columnsOf(em, User, plainUserProperties)

  /** A later commit may have an earlier transaction id, so snapshots are compared. docs/decisions/presence.md */
  async function readChanges({ since, after, userIds, limit }: ChangesQuery): Promise<ChangesPage> {
    type FoundPresence = CurrentPresence & { changed: string | null }
    type Row = { snapshot: string } & (FoundPresence | { userId: null })
    const rows = await read<Row>(
      em.fork(),
      `with recorded as (
         select user_id, changed, node_id from presence_changes
         where changed >= pg_snapshot_xmin(?::pg_snapshot) and not pg_visible_in_snapshot(changed, ?::pg_snapshot)
           and (changed, user_id) > (?::xid8, ?::bigint)
         order by changed, user_id limit ?
       ), found as (select * from recorded union all select asked, null, null from unnest(?::bigint[]) as asked)
       select pg_current_snapshot()::text as snapshot, user_id::text as "userId", status, changed::text,
         node_id::text as "recordedBy", home_user_id as "homeUserId", home_instance as "homeInstance"
       from (values (true)) as one left join (found join users on users.id = user_id) on true
       order by found.changed, user_id`,
      [since, since, after?.changed ?? '0', after?.userId ?? '0', limit, bigintArray(userIds)],
    )
    const foundRows = rows.filter((row): row is Row & FoundPresence => row.userId !== null)
    const recorded = foundRows.flatMap(({ userId, changed }) => (changed === null ? [] : { userId, changed }))
    return {
      snapshot: rows[0]?.snapshot ?? since,
      presences: foundRows.map(({ snapshot: _, changed: __, ...presence }) => presence),
      next: recorded.length === limit ? recorded.at(-1) : undefined,
    }
  }

  return {
    /** Rolls back where `work` has written nothing. */
    transaction: <T>(work: (transaction: PresenceTransaction) => Promise<T>): Promise<T> =>
      shortTransaction(em, (transaction) => work(presenceTransaction(transaction, columns))),
    /** After the commit: of two users who connect at once, the later reader sees the other. */
    readAudience: (users: AudienceOf, present: PresentUsers) => readAudience(context, users, present),
    findVisible: (userId: string, among: Parameters<typeof findVisible>[2]) => findVisible(context, userId, among),
    readChanges,
    /** What it gives is recorded as changes of now: those users that are online on the node. */
    recordAgain: (userIds: readonly string[], nodeId: string): Promise<PresenceChange[]> =>
      read<PresenceChange>(
        em.fork(),
        `with changes as (
           select users.id, status from users join presences on user_id = users.id
           where users.id = any(?::bigint[]) and node_id = ?::uuid and status = 'online' order by users.id
         ), recorded as (${recordChanges})
         ${selectChanges}`,
        [bigintArray(userIds), nodeId, nodeId],
      ),
  }
}

export type PresenceTransaction = ReturnType<typeof presenceTransaction>

function presenceTransaction(transaction: ShortTransaction, columns: EntityColumns<User, keyof PlainUser>) {
  /** Skips locked accounts. The locks precede the write, so two nodes cannot miss each other's change. Contract: 6, status. */
  async function lockUsers(userIds: readonly string[]): Promise<Map<string, UserSnapshot>> {
    const rows = await transaction.read<Pick<UserSnapshot, 'instanceName' | 'instanceId'>>(
      `select ${columns.sql}, instance_name as "instanceName", instance_id as "instanceId"
       from users cross join instance_settings
       where users.id = any(?::bigint[]) order by users.id for no key update of users skip locked`,
      [bigintArray(userIds)],
    )
    const snapshots = rows.map((row) => {
      const user = columns.read(row)
      const { instanceName, instanceId } = row
      return [user.id, { user, state: accountStateOf(user), instanceName, instanceId }] as const
    })
    return new Map(snapshots)
  }

  async function findExisting(userIds: readonly string[]): Promise<string[]> {
    if (userIds.length === 0) return []
    const query = 'select id::text from users where id = any(?::bigint[])'
    return (await transaction.read<{ id: string }>(query, [bigintArray(userIds)])).map(({ id }) => id)
  }

  /** Commits. Throws NodeNotRegistered. */
  async function write(nodeId: string, { online, offline }: PresenceWrite): Promise<PresenceChange[]> {
    if (online.length + offline.length === 0) return []
    // A statement for departures looks through all users of the node.
    const writes = [
      ...(online.length > 0 ? [{ ...addOnline, parameters: [bigintArray(online), nodeId, bigintArray(online)] }] : []),
      ...(offline.length > 0 ? [{ ...removeOffline, parameters: [bigintArray(offline), nodeId, nodeId] }] : []),
    ]
    const written = transaction.commitWith<PresenceChange>(
      `with ${writes.map(({ steps }) => steps).join(', ')},
       changes as (${writes.map(({ result }) => result).join(' union all ')}), recorded as (${recordChanges})
       ${selectChanges}`,
      [...writes.flatMap(({ parameters }) => parameters), nodeId],
    )
    return await written.catch((error: unknown) => {
      if (!violates(error, 'presences_node_id_fkey')) throw error
      throw new NodeNotRegistered('this session gateway was evicted', { cause: error })
    })
  }

  return { lockUsers, findExisting, write }
}

export class NodeNotRegistered extends Error {
  override readonly name = 'NodeNotRegistered'
}

const addOnline = {
  steps: `added as (
      insert into presences (user_id, node_id) select unnest(?::bigint[]), ?::uuid on conflict do nothing
    ), shown as (
      update users set status = 'online' where id = any(?::bigint[]) and status <> 'online' returning id
    )`,
  result: `select id, 'online' as status from shown`,
}

const removeOffline = {
  steps: `removed as (
      delete from presences where user_id = any(?::bigint[]) and node_id = ?::uuid returning user_id
    ), hidden as (
      update users set status = 'offline' from removed
      where users.id = removed.user_id and not exists (
        select from presences where presences.user_id = users.id and presences.node_id <> ?::uuid)
      returning users.id
    )`,
  result: `select id, 'offline' as status from hidden`,
}

/** For a statement with `changes (id, status)`. The parameter is the writing node. */
export const recordChanges = `insert into presence_changes (user_id, node_id) select id, ?::uuid from changes
  on conflict (user_id) do update set changed = excluded.changed, node_id = excluded.node_id`

export const selectChanges = `select id::text as "userId", status from changes`

export type ChangesCursor = { changed: string; userId: string }

/** What `since`, a snapshot of the database, shows is left out. `userIds` are read too, changed or not. */
export type ChangesQuery = { since: string; after?: ChangesCursor | undefined; userIds: string[]; limit: number }

/** `since`, before everything. */
export const firstSnapshot = '1:1:'

/** The home is null for users of this instance: protocol.md 5.4. `recordedBy`: the writing node, or null for one of `userIds`. */
export type CurrentPresence = Omit<PresenceMessage, 'type'> & { recordedBy: string | null }
export type ChangesPage = { snapshot: string; presences: CurrentPresence[]; next: ChangesCursor | undefined }
