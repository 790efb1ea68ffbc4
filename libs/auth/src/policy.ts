const second = 1_000

/** Tokens of this instance have under 300 characters. */
export const maxBearerTokenLength = 2_048

/** A minute, and a margin. */
export const clockSkewMs = 90 * second
export const maxCallerTokenLength = 4_096
/** A gateway uses one for a few seconds. One takes about a kilobyte. */
export const cachedCallerTokens = 5_000

/** Milliseconds. After `staleMs` (a lease and an entry) no cache holds a state from before a change. */
export const cacheTimes = { entryMs: 10 * second, leaseMs: 2 * second, staleMs: 12.5 * second } as const
export const maxLoadSize = 1_000
/** An eviction costs a load. */
export const maxMemoryEntries = 100_000
export const maxParsedEntries = 10_000
export const invalidationRetryMs = 100

/** The connection is given up after it. */
export const redisCommandMs = 0.5 * second
/** A start goes on without Redis after it. */
export const redisStartMs = second
/** How often a Redis cluster is asked which primary has which slots. */
export const clusterRenewalMs = second
export const redisReconnectBackoff = { firstMs: 50, mostMs: 500 }
