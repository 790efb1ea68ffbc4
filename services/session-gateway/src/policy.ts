import { limits, upstreamLimits } from '@gatehouse/contracts'

/** Periods and time limits in milliseconds; tests override them. Contract: 6. */
export const timings = {
  authTimeoutMs: limits.socketAuthTimeoutMs,
  /** How long a handshake with a good token may wait for its account to be read. */
  handshakeLimitMs: 30_000,
  /** A ping that is not answered by the next one terminates the socket: within twice this, under 65 s. */
  pingMs: limits.socketHeartbeatMs,
  graceMs: limits.presenceGraceMs,
  /** For the peer's part of the closing handshake. */
  closeMs: 2_000,
  nodeHeartbeatMs: 5_000,
  /** A node without a heartbeat for this long counts as dead, and its users as gone. */
  nodeSilenceMs: 20_000,
  /** How often the accounts of all connected users are read again, in case an event was lost. */
  sweepMs: 10_000,
  /** How often sockets are looked through for expired tokens, and reported presences for their end. */
  expiryMs: 1_000,
  /** Reports of peers within this time share a statement. */
  remotePresenceGatherMs: 50,
  /** How long the lists of peers in `ready` may be old. */
  peeringSummaryMs: 1_000,
  /** Handshakes within this time share a batch: a statement costs little more for a hundred users than for one. */
  gatherMs: 5,
  /** Changes of presence that come within this time of the ones before are sent together. */
  presenceGatherMs: 20,
  /** Delay before rows that another transaction has locked are tried again. */
  lockedRetryMs: 25,
  databaseRetryMs: 1_000,
  databaseLimitMs: 8_000,
  /** For the nodes to tell their sockets of an account, so that the answer leaves within 500 ms. Contract: 3, sockets. */
  socketListMs: 450,
  drainMs: 15_000,
  /** For an upstream to acknowledge a message of a socket. */
  upstreamMessageMs: upstreamLimits.messageTimeoutMs,
  /** How long `ready` waits for the parts of upstreams, from when the account was read. */
  readyPartsMs: upstreamLimits.readyDeadlineMs,
  /** How long after the question a part may still follow, and how soon an upstream that was not there is asked again. */
  lateReadyPartMs: upstreamLimits.lateReadyMs,
  readyPartRetryMs: 1_000,
  /** When an event that an upstream did not acknowledge is delivered to it again. */
  upstreamAckWaitMs: 30_000,
  /** How soon subscriptions for upstreams are tried again that NATS did not take. */
  upstreamRetryMs: 5_000,
} as const
export type Timings = { readonly [Name in keyof typeof timings]: number }

export const policy = {
  /** A peer with more than this waiting to be sent counts as a slow reader. */
  sendBufferBytes: 1024 * 1024,
  /** What may wait to be sent to all sockets of one account on this node. */
  accountSendBufferBytes: 4 * 1024 * 1024,
  /** Only a socket with more than this waiting is compared with that total. */
  sendBufferCheckBytes: 64 * 1024,
  /** A `ready` up to this size is written as one piece. */
  copiedReadyBytes: 16 * 1024,
  /** Frames of one socket in a second. What it sends beyond them is read as fast as they allow. */
  framesPerSecond: 300,
  /** A frame counts once more for each of these in it: 16 KiB count as nine frames. */
  bytesPerFrame: 2 * 1024,
  /** Frames of any kind before `ready`: one message, and pings of a client that keeps its connection open. */
  framesBeforeReady: 10,
  /** Frames after the socket was closed here: what was on its way, and the peer's close frame. */
  framesAfterClose: 10,
  framePauseMs: 1_000,
  reconcileBatch: 1_000,
  sweepBatch: 1_000,
  evictionBatch: 1_000,
  /** Batches whose handshakes are being answered; the next one waits, and grows. */
  concurrentAnswers: 2,
  /** For the statement that reads an audience: a list of a large space is sorted in memory. */
  audienceWorkMem: '32MB',
  /** A message about a change of presence names its recipients up to this number: nodes with none of them read nothing. */
  toldRecipients: 100,
  /** Users whose latest presence version a node knows. */
  rememberedVersions: 20_000,
  /** Users whose presence peers report; beyond these, reports of further users are not kept. */
  remotePresences: 20_000,
  /** A drain closes sockets at this rate, in rounds with this pause between them. */
  drainPerSocketMs: 2,
  drainPauseMs: 20,
  /** Of messages that wait for one upstream, and of its messages that wait for the members of spaces. */
  upstreamWaitingBytes: 32 * 1024 * 1024,
  /** Spaces whose members one statement reads. */
  spacesPerStatement: 100,
  /** A fault that may come with every message is logged once in this time. */
  repeatedFaultMs: 60_000,
} as const
