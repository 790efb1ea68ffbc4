import { setTimeout as wait } from 'node:timers/promises'
import { storeAccountState, type AccountState } from '@gatehouse/contracts'
import type { Bus } from '@gatehouse/bus'
import type { Clock } from '@gatehouse/runtime'
import { cacheTimes, type StateStore } from './store.ts'

export type StateAnnouncer = {
  /**
   * Resolves when no cache can give an older state of this account any more. Call it after the commit and before the
   * answer. It takes a round trip; when the cache is away, until it is back or `cacheTimes.staleMs` have passed.
   */
  announce(state: AccountState): Promise<void>
}

type Needs = { store: StateStore; bus: Bus; clock: Clock; log: { warn(facts: object, message: string): void } }

const retryMs = 100
const askTimeoutMs = 500

/** How the process that changes accounts tells the cache. Design: invariant 1. */
export function createStateAnnouncer({ store, bus, clock, log }: Needs): StateAnnouncer {
  const written = async (state: AccountState): Promise<boolean> => {
    try {
      await store.put(state)
      return true
    } catch {
      return await askOthers(bus, state)
    }
  }

  return {
    announce: async (state) => {
      const harmlessAt = clock.now() + cacheTimes.staleMs
      while (!(await written(state))) {
        if (clock.now() >= harmlessAt) {
          log.warn({ userId: state.userId, version: state.version }, 'cache away: waited until older states expired')
          return
        }
        await wait(retryMs)
      }
    },
  }
}

/** Another process may reach the cache where this one does not. */
async function askOthers(bus: Bus, state: AccountState): Promise<boolean> {
  try {
    await bus.request(storeAccountState, state, { timeoutMs: askTimeoutMs })
    return true
  } catch {
    return false
  }
}
