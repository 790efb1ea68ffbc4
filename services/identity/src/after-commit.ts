import type { CacheInvalidator } from '@gatehouse/auth'
import type { OutboxRelay } from '@gatehouse/bus'
import type { AccountState } from '@gatehouse/contracts'

export type AfterCommit = {
  /** Enough where no cache holds an older state. */
  publishEvents(): void
  /** No cache gives an older state when it resolves: revoked tokens are refused everywhere. Design: invariant 1. */
  invalidateCache(state: AccountState): Promise<void>
}

export function createAfterCommit(deps: {
  relay: Pick<OutboxRelay, 'notify'>
  cacheInvalidator: CacheInvalidator
}): AfterCommit {
  return {
    publishEvents: () => deps.relay.notify(),
    invalidateCache: async (state) => {
      deps.relay.notify()
      await deps.cacheInvalidator.invalidate(state)
    },
  }
}
