import type { CacheInvalidator } from '@gatehouse/authority'
import type { AccountState } from '@gatehouse/contracts'
import type { OutboxRelay } from '@gatehouse/outbox'

export type AfterCommit = ReturnType<typeof createAfterCommit>

type AfterCommitDeps = { relay: Pick<OutboxRelay, 'notify'>; cacheInvalidator: CacheInvalidator }

export function createAfterCommit({ relay, cacheInvalidator }: AfterCommitDeps) {
  return {
    /** Enough where no cache holds an older state. */
    publishEvents: () => relay.notify(),
    /** No cache gives an older state when it resolves: revoked tokens are refused everywhere. Design: invariant 1. */
    invalidateCache: async (state: AccountState) => {
      relay.notify()
      await cacheInvalidator.invalidate(state)
    },
  }
}
