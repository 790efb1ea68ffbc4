import { presenceChanged } from '@gatehouse/contracts'
import type { Subscription } from '@gatehouse/bus'
import type { Deps } from '../deps.ts'
import { repeat } from '../repeat.ts'
import { clearDeadNodes, reapSilentNodes } from './reap-nodes.ts'
import type { SessionNode } from './session-node.ts'

/**
 * Keeps this node's row fresh, hears what is addressed to it and clears away dead nodes, until disposed: then it hands
 * its users over. `onlyNode`: all others are remains of earlier runs.
 */
export async function watchNodes(deps: Deps, node: SessionNode, onlyNode: boolean): Promise<AsyncDisposable> {
  const { timings } = deps
  let hearing: { as: string; subscription: Subscription } | undefined
  let fellSilentAt = performance.now()

  /** Only who has not been cut off itself may judge the silence of others: the database may have been away for all. */
  const mayJudge = () => performance.now() - fellSilentAt >= timings.nodeSilenceMs

  async function renew(): Promise<void> {
    const startedAt = performance.now()
    try {
      await node.renew()
    } catch (error) {
      fellSilentAt = performance.now()
      throw error
    }
    if (performance.now() - startedAt > timings.nodeSilenceMs) fellSilentAt = performance.now()
  }

  async function hearOwn(): Promise<void> {
    if (hearing?.as === node.id) return
    const before = hearing
    const as = node.id
    const subscription = await deps.bus.hear(
      presenceChanged,
      async ({ payload }) => deps.broadcaster.deliver(payload),
      { as },
    )
    hearing = { as, subscription }
    await before?.subscription[Symbol.asyncDispose]()
  }

  if (onlyNode) {
    await node.condemn('all')
    await clearDeadNodes(deps)
    await node.renew()
  }
  await hearOwn()
  const heartbeat = repeat({ name: 'heartbeat', everyMs: timings.nodeHeartbeatMs, log: deps.log }, async () => {
    await renew()
    await hearOwn()
    if (mayJudge()) await reapSilentNodes(deps)
    await deps.broadcaster.catchUp()
  })
  node.onRebirth(() => {
    deps.presence.rejoin()
    void heartbeat.soon()
  })
  return {
    async [Symbol.asyncDispose]() {
      await heartbeat[Symbol.asyncDispose]()
      await sayGoodbye(deps, node)
      await hearing?.subscription[Symbol.asyncDispose]()
    },
  }
}

/** Without the database the others find out by themselves. */
async function sayGoodbye(deps: Deps, node: SessionNode): Promise<void> {
  try {
    if (await node.handOver()) return
    await node.condemn('self')
    await clearDeadNodes(deps)
  } catch (error) {
    deps.log.warn({ error }, 'could not hand the users over')
  }
}
