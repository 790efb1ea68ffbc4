const second = 1_000

export const defaultConnections = 10
export const connectTimeoutMs = 5 * second
/** Later, the earlier addresses are used. */
export const slowLookupMs = second / 2
/** PostgreSQL ends these itself. docs/decisions/bounded-waits.md. */
export const sessionTimeouts = {
  lock_timeout: 2 * second,
  statement_timeout: 15 * second,
  idle_in_transaction_session_timeout: 30 * second,
} as const
/** The answer to an ended statement comes at most this much later. */
export const answerMarginMs = 5 * second
/** TCP asks after this silence. Ten unanswered questions, one a second, close the connection. */
export const keepAliveMs = 10 * second
/** A connection to a read-only server is used for this long. Writes are right again within two seconds. Contract: 8, PostgreSQL. */
export const readOnlyUseMs = second
/** For a transaction over all rows of an account: `allowLongWork`. */
export const longWork = { lockMs: 60 * second, statementMs: 15 * 60 * second } as const
/** Reads keep these while transactions wait for locks. At most half of the pool. */
export const connectionsForReads = 3
/** A longer wait refuses the transaction. */
export const transactionWaitMs = 5 * second
/** In one process: one works, one may wait for its locks. */
export const transactionsPerAccount = 2
export const accountWaitMs = 2 * second
export const conflictRetries = 2
