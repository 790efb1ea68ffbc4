import type { AccountState } from '@gatehouse/contracts'
import { delay, entryLimit, systemTimer, Unavailable, type Clock, type Timer } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { cacheTimes, invalidationRetryMs, maxLoadSize, maxMemoryEntries } from '../policy.ts'

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
      const held = leases.get(userId)
      if (held !== undefined) return held
      leasesTaken += 1
      const lease = String(leasesTaken)
      leases.set(userId, lease)
      return lease
    },
    fill: async (state, lease) => {
      if (leases.get(state.userId) !== lease) return
      const known = entries.get(state.userId)
      if (!known || known.version < state.version) entries.set(state.userId, state)
    },
    put: async (state) => {
      leases.delete(state.userId)
      const known = entries.get(state.userId)
      if (known && known.version < state.version) entries.set(state.userId, state, { noUpdateTTL: true })
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

export type AccountStates = {
  /** Undefined: no such account. Rejects with the error of `load` when neither the cache nor the source answers. */
  find(userId: string): Promise<AccountState | undefined>
}

/** `cacheId`: of the cache that the source writes; of no other cache they are stored in. */
export type LoadedStates = { states: readonly AccountState[]; cacheId?: string | undefined }
type LoadStates = (userIds: readonly string[]) => Promise<LoadedStates>

/** `load` takes at most 1,000 accounts and leaves unknown ones out. Without a cache each call is a load. Design: invariant 1. */
export function createAccountStates({ cache, load }: { cache?: AccountStateCache; load: LoadStates }): AccountStates {
  const byId = (states: readonly AccountState[]) => states.map((state) => [state.userId, state] as const)
  if (!cache) return { find: coalesceLoads(async (userIds) => byId((await load(userIds)).states), maxLoadSize) }
  const loadOne = coalesceLoads(async (userIds) => {
    const leases = await Promise.all(userIds.map((userId) => unlessUnavailable(cache.lease(userId))))
    const leaseOf = new Map(userIds.map((userId, index) => [userId, leases[index]]))
    const { states, cacheId } = await load(userIds)
    if (cacheId !== undefined && cacheId !== cache.id()) return byId(states)
    const fills = states.map(async (state) => {
      const lease = leaseOf.get(state.userId)
      if (lease !== undefined) await unlessUnavailable(cache.fill(state, lease))
    })
    await Promise.all(fills)
    return byId(states)
  }, maxLoadSize)
  return { find: async (userId) => (await unlessUnavailable(cache.find(userId))) ?? (await loadOne(userId)) }
}

async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CacheUnavailable) return undefined
    throw error
  }
}

type Load<T> = (keys: readonly string[]) => Promise<readonly (readonly [key: string, value: T])[]>
type PendingLoad<T> = { keys: Set<string>; values: Promise<Map<string, T>> }

/**
 * A call during a load waits for the next one, so nothing was read before the call. A load takes `most` keys; several run at
 * once. Undefined: `load` left the key out.
 */
export function coalesceLoads<T>(load: Load<T>, most: number): (key: string) => Promise<T | undefined> {
  let pending: PendingLoad<T> | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function schedule(): PendingLoad<T> {
    const keys = new Set<string>()
    const values = underWay.then(async () => {
      pending = undefined
      const all = [...keys]
      const parts = Array.from({ length: Math.ceil(all.length / most) }, (_, n) => all.slice(n * most, (n + 1) * most))
      return new Map((await Promise.all(parts.map(load))).flat())
    })
    underWay = values.catch(() => undefined)
    return { keys, values }
  }
  return async (key) => {
    pending ??= schedule()
    pending.keys.add(key)
    const { values } = pending
    return (await values).get(key)
  }
}

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
