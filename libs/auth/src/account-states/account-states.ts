import type { AccountState } from '@gatehouse/contracts'
import { maxLoadSize } from '../policy.ts'
import { CacheUnavailable, type AccountStateCache } from './cache.ts'

export type AccountStates = {
  /** Undefined: no such account. Rejects with the error of `load` when neither the cache nor the source answers. */
  find(userId: string): Promise<AccountState | undefined>
}

/** `cacheId`: of the cache that the source writes; of no other cache they are stored in. */
export type LoadedStates = { states: readonly AccountState[]; cacheId?: string | undefined }

type Load = (userIds: readonly string[]) => Promise<LoadedStates>

/** `load` takes at most 1,000 accounts and leaves unknown ones out. Design: invariant 1. */
export function createAccountStates({ cache, load }: { cache: AccountStateCache; load: Load }): AccountStates {
  const loadOne = coalesceLoads(async (userIds) => {
    const leases = await Promise.all(userIds.map((userId) => unlessUnavailable(cache.lease(userId))))
    const leaseOf = new Map(userIds.map((userId, index) => [userId, leases[index]]))
    const { states, cacheId } = await load(userIds)
    if (cacheId !== undefined && cacheId !== cache.id()) return states
    const fills = states.map(async (state) => {
      const lease = leaseOf.get(state.userId)
      if (lease !== undefined) await unlessUnavailable(cache.fill(state, lease))
    })
    await Promise.all(fills)
    return states
  })

  return {
    find: async (userId) => (await unlessUnavailable(cache.find(userId))) ?? (await loadOne(userId)),
  }
}

type PendingLoad = { userIds: Set<string>; states: Promise<Map<string, AccountState>> }

/** A call during a load waits for the next one, so no state was read before the call. */
function coalesceLoads(
  load: (userIds: readonly string[]) => Promise<readonly AccountState[]>,
): (userId: string) => Promise<AccountState | undefined> {
  let pending: PendingLoad | undefined
  let underWay: Promise<unknown> = Promise.resolve()

  function schedule(): PendingLoad {
    const userIds = new Set<string>()
    const states = underWay.then(async () => {
      pending = undefined
      const loaded = await Promise.all(chunksOf([...userIds]).map(load))
      return new Map(loaded.flat().map((state) => [state.userId, state]))
    })
    underWay = states.catch(() => undefined)
    return { userIds, states }
  }

  return async (userId) => {
    pending ??= schedule()
    pending.userIds.add(userId)
    const { states } = pending
    return (await states).get(userId)
  }
}

function chunksOf(userIds: readonly string[]): string[][] {
  const count = Math.ceil(userIds.length / maxLoadSize)
  return Array.from({ length: count }, (_, index) => userIds.slice(index * maxLoadSize, (index + 1) * maxLoadSize))
}

async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof CacheUnavailable) return undefined
    throw error
  }
}
