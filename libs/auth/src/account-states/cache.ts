import type { AccountState } from '@gatehouse/contracts'
import { Unavailable } from '@gatehouse/runtime'

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
  /** Of the process that holds the entries. Undefined: not known. */
  id(): string | undefined
  /** How long another process, which this one replaced, may go on giving older entries. */
  settlesInMs(): number
  ready(): boolean
}
