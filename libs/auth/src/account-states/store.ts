import type { AccountState } from '@gatehouse/contracts'

/** The cache cannot be asked right now; the truth has to be. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/**
 * How long things count, in milliseconds. Whoever changes an account and can neither tell the cache nor have it told
 * waits `staleMs` before answering: what was read before the change is stored within a lease and lives for an entry, so
 * nothing older is left by then, wherever it is.
 */
export const cacheTimes = {
  entryMs: 10_000,
  leaseMs: 2_000,
  staleMs: 12_500,
} as const

/**
 * A cache of account states that no order of events makes stale:
 * - only what was read from the truth under a lease taken before that read makes an entry (`fill`);
 * - telling it of a change (`put`) ends all leases, so that no earlier read is stored any more, and replaces an older
 *   entry for the rest of its life. It never makes one: a word that comes late, twice or out of order, even one that
 *   waited in the buffers of a server that hung, may be older than the truth, and then only costs a miss;
 * - an entry is replaced by a higher version only, and expires.
 * Every function rejects with StoreUnavailable when the cache does not answer.
 */
export type StateStore = AsyncDisposable & {
  find(userId: string): Promise<AccountState | undefined>
  /** Take before reading the truth. */
  lease(userId: string): Promise<string>
  /** Stores what was read under a lease; without a live one nothing happens. */
  fill(state: AccountState, lease: string): Promise<void>
  /** From now on it gives no older state of this account. */
  put(state: AccountState): Promise<void>
  ready(): boolean
}
