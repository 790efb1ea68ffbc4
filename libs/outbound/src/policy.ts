/** The longest response body that is accepted unless a request says otherwise. */
export const maxResponseBytes = 65_536

/** How long a connection may take to be made, TLS included. */
export const connectMs = 10_000

/** The most connections to one origin, and how long an idle one is kept: so long, or as the peer says up to the second. */
export const connectionsPerOrigin = 32
export const idleMs = 4_000
export const maxIdleMs = 30_000

/** How long a name server may take for one attempt, and how many attempts a lookup has. */
export const lookupAttemptMs = 1_500
export const lookupAttempts = 2
