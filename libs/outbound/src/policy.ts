/** The default; a request may set another limit. */
export const maxResponseBytes = 65_536

export const connectMs = 10_000

/** An idle connection stays open for `idleMs`, or as the peer says up to `maxIdleMs`. */
export const connectionsPerOrigin = 32
export const idleMs = 4_000
export const maxIdleMs = 30_000

/** The limit of one attempt, and the number of attempts. */
export const lookupAttemptMs = 1_500
export const lookupAttempts = 2
