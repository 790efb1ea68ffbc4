import { accountEvents, passwordChanged, sessionEndingEvents } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'

/** Events after which older tokens of the account are invalid. */
const revocations: ReadonlySet<string> = new Set([passwordChanged, ...sessionEndingEvents].map(({ name }) => name))

/**
 * Writes the account state of each event to the cache. One gateway consumes each event, so the cache is updated also
 * when the service that changed the account stopped between its commit and its own write. Design: invariant 1.
 */
export async function startCacheUpdater({
  bus,
  accountStateCache,
  clock,
  gatewayMetrics,
}: Pick<Deps, 'bus' | 'accountStateCache' | 'clock' | 'gatewayMetrics'>): Promise<AsyncDisposable> {
  return await bus.consume(accountEvents, 'account-states', async ({ name, payload }) => {
    await accountStateCache.put(payload.state)
    if (revocations.has(name)) gatewayMetrics.revocationApplied(Math.max(0, clock.now() - payload.at) / 1000)
  })
}
