import type { IdentityDeletions } from '@gatehouse/client'

let last: IdentityDeletions | null = null

/** Keeps what became of a deleted account elsewhere, for the page that follows: the session's own stores are gone by then. */
export function keepFarewell(remotes: IdentityDeletions): void {
  last = remotes
}

/** The results of the account that was deleted in this page, or null. */
export function lastFarewell(): IdentityDeletions | null {
  return last
}

export function forgetFarewell(): void {
  last = null
}
