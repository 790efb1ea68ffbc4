/** How long a process may take to answer what it has accepted when it stops. Contract: 8. */
export const drainMs = 30_000

/** When a process that stops exits regardless. Contract: 8. */
export const stopLimitMs = 35_000

/**
 * What a drain of that length grants to requests on their way, so that none meets a closed connection: new connections are
 * taken for `acceptShare` of it, and a connection is closed when it carried nothing for `idleShare` of it.
 */
export const acceptShare = 1 / 150
export const idleShare = 1 / 30

/** How often a drain looks at the connections. */
export const drainSweepMs = 50

/** How long a response that is written at the limit of a drain may take to leave. */
export const drainFlushMs = 200

/** How much of the log may wait to be written, and for how long. */
export const logBatchBytes = 8 * 1024
export const logBatchMs = 250

/** How long finished spans wait to be exported together, how long an export may take, and how often a failure is logged. */
export const exportDelayMs = 2_000
export const exportTimeoutMs = 5_000
export const exportComplaintMs = 60_000

/** A second signal within this time is the same one, delivered twice. */
export const repeatedSignalMs = 300

/** How often a start tries a database that is away. */
export const databaseRetryMs = 500

/** The port of a process that waits for its database is free again within this time. */
export const waitingDrainMs = 150
