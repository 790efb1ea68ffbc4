/** The whole second of a time in milliseconds since the epoch; 0 for none. */
export const secondOf = (time: number | null | undefined): number => Math.floor((time ?? 0) / 1000)

/**
 * The one comparison of an issue time with a change. `issuedAt` and `second` in seconds since the epoch. What was issued
 * in the second of the change is younger than it: identity waits until no older token of that second exists.
 * Spec: Bearer tokens, protected-route check; Contract: 3, revocation.
 */
export const isIssuedBefore = (issuedAt: number, second: number): boolean => issuedAt < second

/** Whether the newest change of the account's authority revoked what was issued at `issuedAt`, in seconds. */
export function isRevoked(issuedAt: number, state: { passwordChangedAt?: number | null | undefined }): boolean {
  return isIssuedBefore(issuedAt, secondOf(state.passwordChangedAt))
}
