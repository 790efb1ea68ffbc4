const second = 1_000

/** Milliseconds. After `staleMs` (a lease and an entry) no cache holds a state from before a change. */
export const cacheTimes = { entryMs: 10 * second, leaseMs: 2 * second, staleMs: 12.5 * second } as const
export const maxLoadSize = 1_000
/** An eviction costs a load. */
export const maxMemoryEntries = 100_000
export const maxParsedEntries = 10_000
export const invalidationRetryMs = 100
