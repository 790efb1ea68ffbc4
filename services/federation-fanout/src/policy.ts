import { signatureWindowMs } from './peers/signature.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The numbers that the contract gives this service, and those it needs to keep them. Times in milliseconds. */
export const policy = {
  /** How long one instance may take to delete an identity, name lookup included. Contract: 7, fan-out. */
  fanoutTimeoutMs: 15_000,
  /** A peer gives up after 15 s, so the answer has to leave before. */
  deleteCallTimeoutMs: 14_000,
  identityCallTimeoutMs: 5_000,
  /** Applying a profile fetches pictures. */
  profileCallTimeoutMs: 25_000,
  forgetCallTimeoutMs: 3_000,
  forgetAttempts: 3,
  /** An offer may be answered after the other side's own proof, so it waits longer than that. */
  offerTimeoutMs: 14_000,
  /** An existing instance waits 10 s for the answer to its offer. federation-wire.md 1, outbound requests. */
  proofTimeoutMs: 6_000,
  messageTimeoutMs: 10_000,
  relayTimeoutMs: 30_000,
  /** 256 bits. Contract: 7. */
  secretBytes: 32,
  /** A timestamp may lie a window ahead and is accepted for a window after: a nonce is remembered for both. */
  nonceLifetimeMs: 2 * signatureWindowMs,
  nonceSweepMs: minuteMs,
  nonceSweepRows: 5_000,
  /** Characters of another instance's text that are passed on to a person. */
  remoteTextMax: 200,

  /** How often the stored states are looked through for what has to be sent. */
  maintenanceMs: secondMs,
  /** A state that was taken up is taken up again after this, when the process died meanwhile. */
  leaseMs: minuteMs,
  /** States taken up in one run. */
  duePerRun: 50,
  /** Delays before a message is repeated that has to be sent: our offer, a proof, a denial, a sync. */
  repeatDelaysMs: [secondMs, 2_000, 5_000, 10_000, 30_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs],
  /** The 202 has to be stored by the other side before our own offer arrives there. */
  secondPassDelayMs: 500,
  /** Of two instances that both make a second pass, the one whose origin sorts last waits. docs/decisions/peering.md. */
  secondPassYieldMs: 5_000,
  syncAttempts: 12,
  syncPageSize: 50,
  /** Pages that one run reads: whatever a peer answers, its other states are not kept waiting. */
  syncPagesPerRun: 10,
  /** Users that are read at a time to answer a sync. */
  syncCandidates: 200,
  /** Requests and pending peers. Contract: 7. */
  handshakeLifetimeMs: 30 * dayMs,
  unprovenOffersMax: 100,
  unprovenOfferLifetimeMs: dayMs,
  outboundRequestsMax: 100,
  /** How long an instance is told of a denial that does not answer. */
  denialAttempts: 60,

  relayEventsMax: 50,
  relayBodyBytes: 10 * 1024 * 1024,
  relayBodiesAtOnce: 8,
  /** Of these, bodies from addresses from which their peer has not yet signed a request. */
  unprovenBodiesAtOnce: 4,
  provenAddressesPerPeer: 16,
  provenAddressMs: dayMs,
  /** How fast a body has to come: a peer waits no longer than that for the answer either. */
  relayPace: { graceMs: 3_000, bytesPerSecond: 64 * 1024, totalMs: 30_000 },
  maxUploadSize: 8 * 1024 * 1024,
  /** Delays of a relayed event. federation-wire.md 2.7. */
  deliveryDelaysMs: [30_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs, 6 * hourMs, dayMs],
  deliveryLifetimeMs: 30 * dayMs,
  /** Failed deliveries in a row until a peer is unreachable; refused ones until it needs attention. */
  failuresUntilUnreachable: 10,
  refusalsUntilAttention: 5,
  probeDelaysMs: [30_000, minuteMs, 5 * minuteMs, 15 * minuteMs],

  /** What an existing instance tells; we accept both secrets for longer, because it changes at its own pace. */
  rotationGraceMs: 15 * minuteMs,
  rotationOverlapMs: hourMs,
  rotationRetryMs: 15 * minuteMs,

  /** Requests of one peer in a minute. federation-wire.md 1, limits. */
  relays: { name: 'relay', requests: 90, windowMs: minuteMs },
  lookups: { name: 'lookup', requests: 60, windowMs: minuteMs },
  /** peer/ensure of one user. Contract: 7, consent. */
  ensures: { name: 'ensure', requests: 3, windowMs: 15 * minuteMs },
  /** A host's reported presence ends by time. Contract: 6. */
  presenceLifetimeMs: 15 * minuteMs,
} as const

/** The delay after the attempt of this number, counted from 0; the last one repeats. */
export function delayAfter(delays: readonly number[], attempts: number): number {
  return delays[Math.min(attempts, delays.length - 1)] ?? 0
}
