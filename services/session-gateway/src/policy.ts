import { limits } from '@gatehouse/contracts'

/** How long things take, in milliseconds; tests give their own. Contract: 6. */
export const timings = {
  authTimeoutMs: limits.socketAuthTimeoutMs,
  /** A ping that has no answer by the next one ends the socket: within twice this and a moment, under 65 s. */
  pingMs: limits.socketHeartbeatMs,
  graceMs: limits.presenceGraceMs,
  /** For the peer's part of a closing handshake. */
  closeMs: 2_000,
  nodeHeartbeatMs: 5_000,
  /** After this much silence a node counts as dead, and its users as gone. */
  nodeSilenceMs: 20_000,
  /** How often the truth is asked about everybody connected, in case an event went astray. */
  sweepMs: 10_000,
  /** Handshakes that come within this time are settled together: a statement costs little more for a hundred than for one. */
  gatherMs: 5,
  /** Rows that another transaction holds are tried again after this. */
  lockedRetryMs: 25,
  databaseRetryMs: 1_000,
  databaseLimitMs: 8_000,
  drainMs: 5_000,
} as const
export type Timings = { readonly [Name in keyof typeof timings]: number }

export const policy = {
  /** More than this waiting to be sent means that the peer does not read. */
  sendBufferBytes: 1024 * 1024,
  /** Frames of one socket in a second, beyond which reading pauses until the next. */
  framesPerSecond: 300,
  settleBatch: 1_000,
  sweepBatch: 1_000,
  reapBatch: 1_000,
  recipientsPerMessage: 20_000,
  rememberedVersions: 20_000,
  /** Sockets closed in one go while draining, and the pause between two. */
  drainPauseMs: 20,
  drainPerSocketMs: 2,
} as const
