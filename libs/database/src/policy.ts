const second = 1_000

/** The most connections of a process, unless it is told another number. */
export const defaultConnections = 10

export const connectTimeoutMs = 5 * second

/** How long a name server may take before the addresses of the time before are used. */
export const slowLookupMs = second / 2

/** What PostgreSQL ends by itself. See docs/decisions/bounded-waits.md. */
export const sessionTimeouts = {
  lock_timeout: 2 * second,
  statement_timeout: 15 * second,
  idle_in_transaction_session_timeout: 30 * second,
} as const

/** How much later than that the end of a statement is known here, if the connection to PostgreSQL is alive. */
export const answerMarginMs = 5 * second

/** After this time of silence TCP asks the other side; ten questions a second apart without an answer close it. */
export const keepAliveMs = 10 * second

/** What PostgreSQL ends by itself in a transaction that touches as many rows as an account has: see `allowLongWork`. */
export const longWork = { lockMs: 60 * second, statementMs: 15 * 60 * second } as const

/** Connections that no transaction takes: reads need them while transactions wait for locks. At most half of the pool. */
export const connectionsForReads = 3

/** How long a transaction waits for others of this process before it is refused. */
export const transactionWaitMs = 5 * second

/** Transactions of one account at once in one process: one works, one may wait for its locks. */
export const transactionsPerAccount = 2

/** How long a further one waits. */
export const accountWaitMs = 2 * second

/** How often a transaction that PostgreSQL ended to break a deadlock is run again. */
export const deadlockRetries = 2
