import type { CacheInvalidator } from '@gatehouse/auth'
import type { OutboxRelay } from '@gatehouse/bus'
import type { AccountState } from '@gatehouse/contracts'

/** What follows the commit of a change, before its answer. */
export type AfterCommit = {
  /** Wakes the outbox relay. Enough where no cache holds an older state: a new account, a profile, the settings. */
  publishEvents(): void
  /**
   * Wakes the relay and resolves when no cache gives an older state of the account: from then on the tokens that the
   * change revoked are refused everywhere. Design: invariant 1.
   */
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
