import type { AccountState } from '@gatehouse/contracts'
import { batchedRead } from '@gatehouse/database'
import { User, accountStateOf, accountStateProperties } from '@gatehouse/domain'
import { coalesce } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import { CacheUnavailable, type AccountStateCache } from './cache.ts'
import { maxLoadSize } from './policy.ts'

const readState = batchedRead({ name: 'account_states', entity: User, properties: accountStateProperties, key: 'id' })

/** Unknown ids are missing. Design: invariant 1. */
export async function readAccountStates(em: EntityManager, userIds: readonly string[]): Promise<AccountState[]> {
  const rows = await Promise.all([...new Set(userIds)].map((id) => readState(em, id)))
  return rows.flatMap((row) => (row ? [accountStateOf(row)] : []))
}

export type AccountStates = {
  /** Undefined: no such account. Rejects with the error of `load` when neither the cache nor the source answers. */
  find(userId: string): Promise<AccountState | undefined>
}

/** `cacheId` names the cache that identity writes. If ours is another one, the states are not stored. */
export type LoadedStates = { states: readonly AccountState[]; cacheId?: string | undefined }
type LoadStates = (userIds: readonly string[]) => Promise<LoadedStates>

/** `load` takes at most 1,000 accounts and leaves unknown ones out. Without a cache each call is a load. Design: invariant 1. */
export function createAccountStates({ cache, load }: { cache?: AccountStateCache; load: LoadStates }): AccountStates {
  const byId = (states: readonly AccountState[]) => states.map((state) => [state.userId, state] as const)
  const size = { most: maxLoadSize }
  if (!cache) return { find: coalesce(async (userIds) => byId((await load(userIds)).states), size) }
  const loadOne = coalesce(async (userIds) => {
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
  }, size)
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
