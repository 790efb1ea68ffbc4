import type { AccountState } from '@gatehouse/contracts'
import { delay, systemTimer, type Clock, type Timer } from '@gatehouse/runtime'
import { cacheTimes, invalidationRetryMs } from '../policy.ts'
import type { AccountStateCache } from './cache.ts'

export type CacheInvalidator = ReturnType<typeof createCacheInvalidator>

type InvalidatorDeps = {
  cache: AccountStateCache
  clock: Clock
  log: { warn(fields: object, message: string): void }
  timer?: Timer
}

/** For the process that changes accounts. Design: invariant 1. */
export function createCacheInvalidator({ cache, clock, log, timer = systemTimer }: InvalidatorDeps) {
  async function tryPut(state: AccountState): Promise<boolean> {
    try {
      await cache.put(state)
      return true
    } catch {
      return false
    }
  }

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
      const settlesInMs = cache.settlesInMs()
      if (settlesInMs > 0) await delay(timer, settlesInMs)
    },
  }
}
