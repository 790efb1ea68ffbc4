import type { Bus, Subscription } from '@gatehouse/bus'
import { accountEvents, passwordChanged, sessionEndingEvents, type AccountState } from '@gatehouse/contracts'
import { delay, systemTimer, type Clock, type Timer } from '@gatehouse/runtime'
import type { AccountStateCache } from './cache.ts'
import { cacheTimes, invalidationRetryMs } from './policy.ts'

export type CacheInvalidator = ReturnType<typeof createCacheInvalidator>

type InvalidatorDeps = {
  cache: AccountStateCache
  clock: Clock
  log: { warn(fields: object, message: string): void }
  timer?: Timer
}

/** For the process that changes accounts. Design: invariant 1. */
export function createCacheInvalidator({ cache, clock, log, timer = systemTimer }: InvalidatorDeps) {
  const tryPut = (state: AccountState): Promise<boolean> =>
    cache.put(state).then(
      () => true,
      () => false,
    )
  return {
    /** Call it after the commit and before the answer. It takes up to `cacheTimes.staleMs` without the cache, and after a fail-over. */
    invalidate: async (state: AccountState): Promise<void> => {
      const expiredAt = clock.now() + cacheTimes.staleMs
      while (!(await tryPut(state))) {
        if (clock.now() >= expiredAt) {
          const { userId, version } = state
          return log.warn({ userId, version }, 'cache unavailable: waited until older account states expired')
        }
        await delay(timer, invalidationRetryMs)
      }
      // Gateways may still read the process that was replaced.
      const settlesInMs = cache.settlesInMs(state.userId)
      if (settlesInMs > 0) await delay(timer, settlesInMs)
    },
  }
}

const revocations: ReadonlySet<string> = new Set([passwordChanged, ...sessionEndingEvents].map(({ name }) => name))

type UpdaterDeps = {
  bus: Bus
  accountStateCache: AccountStateCache
  clock: Clock
  /** Seconds from the change until it was applied here. */
  revocationApplied(seconds: number): void
}

/** Repairs the cache when a service stopped between its commit and its write. Design: invariant 1. */
export async function startCacheUpdater(deps: UpdaterDeps): Promise<Subscription> {
  const { bus, accountStateCache, clock } = deps
  return await bus.subscribe(
    accountEvents,
    async ({ name, payload }) => {
      await accountStateCache.put(payload.state)
      if (revocations.has(name)) deps.revocationApplied(Math.max(0, clock.now() - payload.at) / 1000)
    },
    { group: 'account-states' },
  )
}
