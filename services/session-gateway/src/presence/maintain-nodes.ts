import { changeRows, bigintArray, read, transaction } from '@gatehouse/database'
import { startPeriodicTask } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import { createHeartbeatHistory, deadMark, listOtherNodes, type SessionNode } from '../nodes/session-node.ts'
import { policy } from '../policy.ts'
import type { PresenceFeed } from './presence-feed.ts'
import type { PresenceReconciler } from './presence-reconciler.ts'
import { recordChanges, selectChanges, type PresenceChange } from './presence-store.ts'

type MaintenanceDeps = Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings' | 'sessionMetrics'> & {
  node: SessionNode
  presence: Pick<PresenceReconciler, 'resync'>
  feed: PresenceFeed
}

/** Disposed, it drains the node. `onlyNode`: other rows are of an earlier run. */
export async function maintainNodes(deps: MaintenanceDeps, onlyNode: boolean): Promise<AsyncDisposable> {
  const { log, timer, timings, node } = deps
  const heartbeats = createHeartbeatHistory(timer, timings.nodeSilenceMs)
  if (onlyNode) {
    await markDead(deps, 'id <> ?', node.id)
    await evictDeadNodes(deps)
  }
  const task = { name: 'node heartbeat', everyMs: timings.nodeHeartbeatMs, log, timer }
  const heartbeat = startPeriodicTask(task, async () => {
    await heartbeats.observe(() => node.heartbeat())
    deps.presence.resync()
    if (heartbeats.isComplete()) {
      await markDead(deps, `seen_at < now() - ? * interval '1 millisecond'`, timings.nodeSilenceMs)
      await evictDeadNodes(deps)
    }
    // A message of another node may be lost.
    deps.feed.wake()
  })
  return {
    async [Symbol.asyncDispose]() {
      await heartbeat[Symbol.asyncDispose]()
      await drainNode(deps)
    },
  }
}

/** Users may reconnect elsewhere within the grace period. */
async function drainNode(deps: MaintenanceDeps): Promise<void> {
  const { node, log, timings } = deps
  try {
    if ((await listOtherNodes(deps)).length > 0) {
      const expire = `update session_nodes set seen_at = now() - ? * interval '1 millisecond' where id = ?`
      await changeRows(deps.orm.em.fork(), expire, [timings.nodeSilenceMs - timings.graceMs, node.id])
    } else {
      await markDead(deps, 'id = ?', node.id)
      await evictDeadNodes(deps)
    }
  } catch (err) {
    log.warn({ err }, 'node drain failed')
  }
}

/** `which` has one parameter. */
export async function markDead({ orm }: Pick<OperationContext, 'orm'>, which: string, parameter: string | number) {
  const mark = `update session_nodes set seen_at = ${deadMark} where seen_at > ${deadMark} and ${which}`
  await changeRows(orm.em.fork(), mark, [parameter])
}

type EvictionDeps = Pick<MaintenanceDeps, 'orm' | 'sessionMetrics' | 'feed' | 'node'>

/** Skips locked rows: nodes may run it at once. Contract: 6, status. */
export async function evictDeadNodes(deps: EvictionDeps): Promise<void> {
  for (;;) {
    const { evicted, changes } = await evictUsers(deps)
    deps.feed.recorded(changes)
    if (evicted < policy.evictionBatch) break
  }
  const removed = await changeRows(
    deps.orm.em.fork(),
    `delete from session_nodes where seen_at = ${deadMark}
     and not exists (select from presences where node_id = session_nodes.id)`,
  )
  deps.sessionMetrics.nodesEvicted.inc(removed)
}

async function evictUsers({ orm, node }: EvictionDeps) {
  return await transaction(orm, async (em) => {
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
    const changes = await read<PresenceChange>(
      em,
      `with dead as (select id from session_nodes where seen_at = ${deadMark}), removed as (
         delete from presences where user_id = any(?::bigint[]) and node_id in (select id from dead) returning user_id
       ), changes as (
         update users set status = 'offline' where id in (select user_id from removed) and not exists (
           select from presences where user_id = users.id and node_id not in (select id from dead))
         returning id, status
       ), recorded as (${recordChanges})
       ${selectChanges}`,
      [bigintArray(rows.map((row) => row.id)), node.id],
    )
    return { evicted: rows.length, changes }
  })
}
