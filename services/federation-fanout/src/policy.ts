import type { Peer } from '@gatehouse/domain'
import { backoffMs } from '@gatehouse/runtime'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** In milliseconds, before or after our clock. Contract: 7, signatures. */
export const signatureWindowMs = 15 * minuteMs

/** Times in milliseconds. */
export const policy = {
  /** Includes the name lookup. Contract: 7, fan-out. */
  fanoutTimeoutMs: 15_000,
  /** Of each peer: the answers of a hundred fit into one message of NATS. */
  ownedSpacesBytes: 8_000,
  /** A peer gives up after 15 s. */
  deleteCallTimeoutMs: 14_000,
  identityCallTimeoutMs: 5_000,
  /** Includes fetching pictures. */
  profileCallTimeoutMs: 25_000,
  /** Longer than the other side's proof. */
  offerTimeoutMs: 14_000,
  /** An existing instance waits 10 s. protocol.md 1.6. */
  proofTimeoutMs: 6_000,
  messageTimeoutMs: 10_000,
  relayTimeoutMs: 30_000,
  /** 256 bits. Contract: 7, refusals of an offer. */
  secretBytes: 32,
  /** A timestamp is accepted one window before and one after. */
  nonceLifetimeMs: 2 * signatureWindowMs,
  rowsRemovedAtOnce: 1_000,
  remoteTextMax: 200,
  overdueOrdersCounted: 10_000,

  maintenanceMs: secondMs,
  /** The retry time for work whose process died. */
  leaseMs: minuteMs,
  duePerRun: 50,
  /** For offers, proofs, denials and syncs. */
  repeatDelaysMs: [secondMs, 2_000, 5_000, 10_000, 30_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs],
  /** While the other side's own offer is on its way. Contract: 7, handshake, asking. */
  crossedDelaysMs: [30_000, minuteMs, 5 * minuteMs, 15 * minuteMs],
  /** The other side must store the 202 first. */
  secondPassDelayMs: 500,
  /** For the instance whose origin sorts last. protocol.md 7.2. */
  secondPassYieldMs: 5_000,
  syncAttempts: 12,
  syncPageSize: 50,
  syncPagesPerRun: 10,
  syncCandidates: 200,
  /** Beyond the limit, for profiles that were changed at one moment. */
  syncSharedMax: 500,
  /** An offer or a request without a decision ends then. Contract: 7, consent. */
  handshakeLifetimeMs: 30 * dayMs,
  unprovenOffersMax: 100,
  unprovenOfferLifetimeMs: dayMs,
  outboundRequestsMax: 100,
  denialAttempts: 60,

  relayEventsMax: 50,
  /** Of each a profile, and the state of the account. */
  usersPerDelivery: 25,
  /** A thousand for each event: lists, objects and commas of a batch, before it is parsed. Contract: 1, JSON bodies. */
  relayValuesMax: 50_000,
  relayBodyBytes: 10 * 1024 * 1024,
  relayBodiesAtOnce: 8,
  /** For networks from which the named peer has signed no request. */
  unprovenBodiesAtOnce: 4,
  signingNetworksPerPeer: 16,
  signingNetworkMs: dayMs,
  /** In the memory of one process. */
  signingNetworksKnown: 10_000,
  relayPace: { graceMs: 3_000, bytesPerSecond: 64 * 1024, totalMs: 30_000 },
  maxUploadSize: 8 * 1024 * 1024,
  /** Delays of a relayed event. protocol.md 2.7. */
  deliveryDelaysMs: [30_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs, dayMs],
  /** Also the limit of refused deliveries. */
  failuresUntilUnreachable: 10,
  refusalsUntilAttention: 5,
  probeDelaysMs: [30_000, minuteMs, 5 * minuteMs, 15 * minuteMs],

  /** What an existing instance tells. We accept both secrets for longer. */
  rotationGraceMs: 15 * minuteMs,
  rotationOverlapMs: hourMs,
  rotationRetryMs: 15 * minuteMs,

  /** For each peer. protocol.md 1.5. */
  relays: { name: 'relay', requests: 90, windowMs: minuteMs },
  lookups: { name: 'lookup', requests: 60, windowMs: minuteMs },
  /** For each peer. Contract: 7, stubs. */
  stubs: { name: 'stub', requests: 60, windowMs: minuteMs },
  /** For each user. Contract: 7, consent. */
  ensures: { name: 'ensure', requests: 3, windowMs: 15 * minuteMs },
  /** A report of a peer ends then. Contract: 6, status. */
  presenceLifetimeMs: 15 * minuteMs,
} as const

/** After the delay of its attempts so far. */
export function repeatLater(peer: Peer, now: Date, delays: readonly number[] = policy.repeatDelaysMs): void {
  peer.nextAttemptAt = new Date(now.getTime() + backoffMs(peer.attempts, delays))
  peer.attempts += 1
}
