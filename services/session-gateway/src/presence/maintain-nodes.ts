import { changeRows } from '@gatehouse/database'
import { startPeriodicTask } from '@gatehouse/runtime'
import type { OperationContext } from '../context.ts'
import { HeartbeatHistory } from '../nodes/heartbeat-history.ts'
import { listOtherNodes, type SessionNode } from '../nodes/session-node.ts'
import { evictDeadNodes, markDead } from './dead-nodes.ts'
import type { PresenceBroadcaster } from './presence-broadcaster.ts'
import type { PresenceReconciler } from './presence-reconciler.ts'

type MaintenanceDeps = Pick<OperationContext, 'orm' | 'log' | 'timer' | 'timings' | 'sessionMetrics'> & {
  node: SessionNode
  presence: Pick<PresenceReconciler, 'resync'>
  broadcaster: PresenceBroadcaster
}

/** Disposed, it drains the node. `onlyNode`: other rows are of an earlier run. */
export async function maintainNodes(deps: MaintenanceDeps, onlyNode: boolean): Promise<AsyncDisposable> {
  const { log, timer, timings, node } = deps
  const heartbeats = new HeartbeatHistory(timer, timings.nodeSilenceMs)
  const unconfirmed = new Set<string>()
  if (onlyNode) {
    await markDead(deps, { allBut: node.id })
    await evictDeadNodes(deps, unconfirmed)
  }
  const task = { name: 'node heartbeat', everyMs: timings.nodeHeartbeatMs, log, timer }
  const heartbeat = startPeriodicTask(task, async () => {
    await heartbeats.observe(() => node.heartbeat())
    deps.presence.resync()
    if (heartbeats.isComplete()) {
      await markDead(deps, { silentMs: timings.nodeSilenceMs })
      await evictDeadNodes(deps, unconfirmed)
    }
    deps.broadcaster.retryPostponed()
  })
  return {
    async [Symbol.asyncDispose]() {
      await heartbeat[Symbol.asyncDispose]()
      await drainNode(deps)
    },
  }
}

/** The last node takes its users offline. Otherwise users may reconnect within the grace period. */
async function drainNode(deps: MaintenanceDeps): Promise<void> {
  const { node, log, timings } = deps
  try {
    if ((await listOtherNodes(deps)).length > 0) {
      const expire = `update session_nodes set seen_at = now() - ? * interval '1 millisecond' where id = ?`
      await changeRows(deps.orm.em.fork(), expire, [timings.nodeSilenceMs - timings.graceMs, node.id])
    } else {
      await markDead(deps, { id: node.id })
      await evictDeadNodes(deps, new Set())
    }
  } catch (err) {
    log.warn({ err }, 'node drain failed')
  }
}
