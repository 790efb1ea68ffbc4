/** Twice the gateway's limit, because the gateway adds headers. */
export const headerBytes = 64 * 1024

/** After it, what is still under way gets 504. Contract: 8, drain. */
export const drainMs = 30_000
/** After it, the process exits, whatever still runs. Contract: 8, drain. */
export const stopLimitMs = 35_000
/** Shares of a drain's time: for accepting connections, for those that wait to be accepted, and for closing silent ones. */
export const acceptShare = 1 / 150
export const waitingShare = 1 / 30
export const idleShare = 1 / 30
/** A turn of the event loop in which hardly another connection comes. */
export const shortTurnMs = 0.25
export const drainSweepMs = 50
export const drainFlushMs = 200
export const waitingDrainMs = 150
/** A second signal within this time is a duplicate. */
export const repeatedSignalMs = 300

/** Of one service in one process. */
export const requestLinesPerSecond = 100
export const sampledRequests = 100
export const logBatchBytes = 8 * 1024
export const logBatchMs = 250
export const logWaitingBytes = 1024 * 1024
export const logRetryMs = 50
export const logExitMs = 500
/** Between two lines of one kind of fault. */
export const logRepeatMs = 60_000

export const exportDelayMs = 2_000
export const exportTimeoutMs = 5_000

export const databaseRetryMs = 500
