import type { AccountState } from '@gatehouse/contracts'
import { entryLimit, Unavailable, type Clock } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { cacheTimes, maxMemoryEntries } from './policy.ts'

export class CacheUnavailable extends Unavailable {
  override readonly name = 'CacheUnavailable'
}

/**
 * No order of events makes an entry stale. `put` ends all leases and makes no entry: a late put may be older than the
 * source. Only a higher version replaces an entry. Every function rejects with CacheUnavailable. Design: invariant 1.
 */
export type AccountStateCache = AsyncDisposable & {
  find(userId: string): Promise<AccountState | undefined>
  /** Must be taken before the read from the source. */
  lease(userId: string): Promise<string>
  /** Does nothing without a live lease. */
  fill(state: AccountState, lease: string): Promise<void>
  put(state: AccountState): Promise<void>
  /** Of the process that holds the entries, in a cluster of all that do. Undefined: not known. */
  id(): string | undefined
  /** How long another process, which the one of this account replaced, may go on giving older entries. */
  settlesInMs(userId: string): number
  /** Whether every entry can be read. */
  ready(): boolean
}

export function createMemoryCache(clock: Clock): AccountStateCache {
  const entries = createTtlMap<AccountState>(clock, cacheTimes.entryMs)
  const leases = createTtlMap<string>(clock, cacheTimes.leaseMs)
  let leasesTaken = 0
  return {
    find: async (userId) => entries.get(userId),
    lease: async (userId) => {
      const currentLease = leases.get(userId)
      if (currentLease !== undefined) return currentLease
      leasesTaken += 1
      const lease = String(leasesTaken)
      leases.set(userId, lease)
      return lease
    },
    fill: async (state, lease) => {
      if (leases.get(state.userId) !== lease) return
      const entry = entries.get(state.userId)
      if (!entry || entry.version < state.version) entries.set(state.userId, state)
    },
    put: async (state) => {
      leases.delete(state.userId)
      const entry = entries.get(state.userId)
      if (entry && entry.version < state.version) entries.set(state.userId, state, { noUpdateTTL: true })
    },
    id: () => 'memory',
    settlesInMs: () => 0,
    ready: () => true,
    [Symbol.asyncDispose]: async () => {
      entries.clear()
      leases.clear()
    },
  }
}

function createTtlMap<V extends object | string>(clock: Clock, ttlMs: number): LRUCache<string, V> {
  return new LRUCache({
    ...entryLimit(maxMemoryEntries),
    // The library keeps an entry through its last millisecond.
    ttl: ttlMs - 1,
    // Tests move the clock faster than real time.
    ttlResolution: 0,
    perf: clock,
  })
}
