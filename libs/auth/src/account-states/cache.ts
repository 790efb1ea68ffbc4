import type { AccountState } from '@gatehouse/contracts'
import { Unavailable } from '@gatehouse/runtime'

/** The cache does not answer right now; states have to be loaded from the source. */
export class CacheUnavailable extends Unavailable {
  override readonly name = 'CacheUnavailable'
}

/**
 * A cache of account states that no order of events makes stale:
 * - only what was read from the source under a lease taken before that read makes an entry (`fill`);
 * - a change (`put`) ends all leases, so that no earlier read is stored any more, and replaces an older entry until that
 *   expires. It never makes an entry: a put that arrives late, twice or out of order, even one that waited in the
 *   buffers of a server that hung, may be older than the source, and then only costs a miss;
 * - an entry is replaced by a higher version only, and expires.
 * Every function rejects with CacheUnavailable when the cache does not answer. Design: invariant 1.
 */
export type AccountStateCache = AsyncDisposable & {
  find(userId: string): Promise<AccountState | undefined>
  /** Take it before reading from the source. */
  lease(userId: string): Promise<string>
  /** Stores what was read under a lease; without a live lease nothing happens. */
  fill(state: AccountState, lease: string): Promise<void>
  /** From now on the cache gives no older state of this account. */
  put(state: AccountState): Promise<void>
  ready(): boolean
}
