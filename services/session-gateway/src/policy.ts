import { limits, upstreamLimits } from '@gatehouse/contracts'
import { upstreamQuestions } from '@gatehouse/upstreams'

/** Milliseconds. Tests override them. Contract: 6, as a whole. */
export const timings = {
  authTimeoutMs: limits.socketAuthTimeoutMs,
  /** For reading the account after a good token. */
  handshakeLimitMs: 30_000,
  tokenReadMs: 5_000,
  /** An unanswered ping ends the socket at the next one, under 65 s. */
  pingMs: limits.socketHeartbeatMs,
  graceMs: limits.presenceGraceMs,
  /** For the peer's close frame. */
  closeMs: 2_000,
  nodeHeartbeatMs: 5_000,
  nodeSilenceMs: 20_000,
  /** Accounts of connected users are read again: an event may be lost. */
  sweepMs: 10_000,
  expiryMs: 1_000,
  /** The age of the peer lists in `ready`. */
  peeringSummaryMs: 1_000,
  /** A statement costs little more for a hundred users than for one. */
  gatherMs: 5,
  /** Later changes wait for each other. */
  presenceGatherMs: 50,
  /** For rows that another transaction has locked. */
  lockedRetryMs: 25,
  databaseRetryMs: 1_000,
  databaseLimitMs: 8_000,
  /** For the account of a message. It waits for the read before too. */
  accountReadMs: 2_000,
  /** The answer leaves within 500 ms. Contract: 3, sockets. */
  socketListMs: 450,
  drainMs: 15_000,
  upstreamMessageMs: upstreamLimits.messageTimeoutMs,
  /** From when the account was read. */
  readyPartsMs: upstreamLimits.readyDeadlineMs,
  /** From the question. */
  lateReadyPartMs: upstreamLimits.lateReadyMs,
  readyPartRetryMs: 1_000,
  audienceMs: upstreamQuestions.audience.timeoutMs,
  upstreamAckWaitMs: 30_000,
  upstreamRenewMs: 60_000,
  upstreamRetryMs: 5_000,
} as const
export type Timings = { readonly [Name in keyof typeof timings]: number }

export const policy = {
  /** Some 400 bytes each. */
  rememberedTokens: 20_000,
  /** A peer above it is a slow reader. */
  sendBufferBytes: 1024 * 1024,
  /** For all sockets of an account on this node. */
  accountSendBufferBytes: 4 * 1024 * 1024,
  /** Smaller buffers are not compared with the account's total. */
  sendBufferCheckBytes: 64 * 1024,
  /** A `ready` up to it is one write. */
  copiedReadyBytes: 16 * 1024,
  /** Further frames are read at this rate. */
  framesPerSecond: 300,
  /** 16 KiB count as nine frames. */
  bytesPerFrame: 2 * 1024,
  /** One message, and pings. */
  framesBeforeReady: 10,
  /** Frames that were on their way, and the close frame. */
  framesAfterClose: 10,
  framePauseMs: 1_000,
  reconcileBatch: 1_000,
  sweepBatch: 1_000,
  evictionBatch: 1_000,
  /** In batches of handshakes. */
  concurrentAnswers: 2,
  /** The list of a large space is sorted in memory. */
  audienceWorkMem: '32MB',
  changesPerRead: 1_000,
  /** Times as long as the last read took, a second at most. */
  feedPauses: 4,
  /** Users whose profile waits to be read. Further changes are dropped. */
  profileUpdates: 20_000,
  /** In users. Further reports are dropped. */
  remotePresences: 20_000,
  /** Per upstream. */
  upstreamWaitingBytes: 32 * 1024 * 1024,
  spacesPerStatement: 100,
  /** Of the audience. */
  usersPerQuestion: 100,
  audienceQuestionsAtOnce: 8,
  upstreamMembersMs: 5_000,
  /** Ids, in all lists. */
  rememberedMembers: 200_000,
} as const
