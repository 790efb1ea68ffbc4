import { accountEvents, passwordChanged, sessionEndingEvents } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'

const revocations: ReadonlySet<string> = new Set([passwordChanged, ...sessionEndingEvents].map(({ name }) => name))

/** Repairs the cache when a service stopped between its commit and its write. Design: invariant 1. */
export async function startCacheUpdater({
  bus,
  accountStateCache,
  clock,
  gatewayMetrics,
}: Pick<Deps, 'bus' | 'accountStateCache' | 'clock' | 'gatewayMetrics'>): Promise<AsyncDisposable> {
  return await bus.subscribe(
    accountEvents,
    async ({ name, payload }) => {
      await accountStateCache.put(payload.state)
      if (revocations.has(name)) gatewayMetrics.revocationApplied(Math.max(0, clock.now() - payload.at) / 1000)
    },
    { group: 'account-states' },
  )
}
