const second = 1_000

/** The longest bearer token that is looked at; those of this instance have under 300 characters. */
export const maxBearerTokenLength = 2_048

/** How long a caller token is valid: enough for a slow hop, too short to keep. */
export const callerTokenMs = 30 * second
/** How far the clocks of a gateway and of a service may differ: a minute, and a margin. */
export const clockSkewMs = 90 * second
export const maxCallerTokenLength = 4_096

/** The caller tokens that one process has verified and gets again: a gateway uses one for a few seconds. */
export const cachedCallerTokens = 1_000

/**
 * How long cached account states are used, in milliseconds. A process that changes an account and cannot invalidate the
 * cache waits `staleMs` before it answers: what was read before the change is stored within a lease and lives for an
 * entry, so no older state is left by then in any cache.
 */
export const cacheTimes = {
  entryMs: 10 * second,
  leaseMs: 2 * second,
  staleMs: 12.5 * second,
} as const

/** The most accounts in one load from the source. */
export const maxLoadSize = 1_000

/** The most accounts in the cache of an embedded instance; evicting one costs a load. */
export const maxMemoryEntries = 100_000

/** The accounts whose last entry of the Redis cache is kept parsed. */
export const maxParsedEntries = 10_000

/** How soon an invalidation that failed is tried again. */
export const invalidationRetryMs = 100

/** How long Redis may take to answer a command before the connection is given up. */
export const redisCommandMs = 0.5 * second

/** How long a start waits for its connection to Redis before it goes on without. */
export const redisStartMs = second

/** The delays between attempts to connect to Redis again. */
export const redisReconnectBackoff = { firstMs: 50, mostMs: 500 }
