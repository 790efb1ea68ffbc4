import { bigintArray, changeRows, read, transaction } from '@gatehouse/database'
import type { OperationContext } from '../context.ts'
import { deadMark } from '../nodes/session-node.ts'
import { policy } from '../policy.ts'
import type { PresenceBroadcaster } from './presence-broadcaster.ts'
import type { PresenceChange } from './presence-store.ts'

type EvictionDeps = Pick<OperationContext, 'orm' | 'sessionMetrics'> & {
  broadcaster: Pick<PresenceBroadcaster, 'publish'>
}

export async function markDead(
  { orm }: Pick<OperationContext, 'orm'>,
  which: { id: string } | { allBut: string } | { silentMs: number },
): Promise<void> {
  const mark = (where: string, parameter: unknown) =>
    changeRows(
      orm.em.fork(),
      `update session_nodes set seen_at = ${deadMark} where seen_at > ${deadMark} and ${where}`,
      [parameter],
    )
  if ('id' in which) await mark('id = ?', which.id)
  else if ('allBut' in which) await mark('id <> ?', which.allBut)
  else await mark(`seen_at < now() - ? * interval '1 millisecond'`, which.silentMs)
}

/** Skips locked rows: nodes may run it at once. The next call publishes `unconfirmed`. Contract: 6, status. */
export async function evictDeadNodes(deps: EvictionDeps, unconfirmed: Set<string>): Promise<void> {
  await publishUnconfirmed(deps, unconfirmed)
  for (;;) {
    const { evicted, changes } = await evictUsers(deps, unconfirmed)
    deps.broadcaster.publish(changes)
    if (evicted < policy.evictionBatch) break
  }
  const removed = await changeRows(
    deps.orm.em.fork(),
    `delete from session_nodes where seen_at = ${deadMark}
     and not exists (select from presences where node_id = session_nodes.id)`,
  )
  deps.sessionMetrics.nodesEvicted.inc(removed)
}

type Row = { user_id: string; status: 'online' | 'offline'; version: string }
type Eviction = { evicted: number; changes: PresenceChange[] }

async function evictUsers({ orm }: EvictionDeps, unconfirmed: Set<string>): Promise<Eviction> {
  const eviction = await transaction(orm, async (em): Promise<Eviction> => {
    const rows = await read<{ id: string }>(
      em,
      `select users.id::text from users
       where users.id in (
         select user_id from presences join session_nodes on session_nodes.id = node_id where seen_at = ${deadMark})
       order by users.id limit ? for no key update skip locked`,
      [policy.evictionBatch],
    )
    if (rows.length === 0) return { evicted: 0, changes: [] }
    // A statement after the lock sees what was committed before it.
    const changed = await read<Row>(
      em,
      `with dead as (select id from session_nodes where seen_at = ${deadMark}), removed as (
         delete from presences where user_id = any(?::bigint[]) and node_id in (select id from dead) returning user_id
       ), hidden as (
         update users set status = 'offline' where id in (select user_id from removed) and not exists (
           select from presences where user_id = users.id and node_id not in (select id from dead))
         returning id
       )
       select id::text as user_id, 'offline' as status, nextval('presence_versions')::text as version from hidden`,
      [bigintArray(rows.map((row) => row.id))],
    )
    const changes = changed.map(readChange)
    for (const { userId } of changes) unconfirmed.add(userId)
    return { evicted: rows.length, changes }
  })
  for (const { userId } of eviction.changes) unconfirmed.delete(userId)
  return eviction
}

/** The row lock keeps a newer change from an older version. Locked users wait. */
async function publishUnconfirmed({ orm, broadcaster }: EvictionDeps, unconfirmed: Set<string>): Promise<void> {
  if (unconfirmed.size === 0) return
  const rows = await read<Row>(
    orm.em.fork(),
    `with current as materialized (
       select id, status from users where id = any(?::bigint[]) order by id for no key update skip locked)
     select id::text as user_id, status, nextval('presence_versions')::text as version from current`,
    [bigintArray([...unconfirmed])],
  )
  for (const { user_id: userId } of rows) unconfirmed.delete(userId)
  broadcaster.publish(rows.map(readChange))
}

function readChange({ user_id: userId, status, version }: Row): PresenceChange {
  return { userId, status, version: Number(version) }
}
