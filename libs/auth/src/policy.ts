const second = 1_000

/** Tokens of this instance have under 300 characters. */
export const maxBearerTokenLength = 2_048

/** A minute, and a margin. */
export const clockSkewMs = 90 * second
export const maxCallerTokenLength = 4_096
/** A gateway uses one for a few seconds. One takes about a kilobyte. */
export const cachedCallerTokens = 5_000

/** The connection is given up after it. */
export const redisCommandMs = 0.5 * second
/** A start goes on without Redis after it. */
export const redisStartMs = second
/** How often a Redis cluster is asked which primary has which slots. */
export const clusterRenewalMs = second
export const redisReconnectBackoff = { firstMs: 50, mostMs: 500 }
