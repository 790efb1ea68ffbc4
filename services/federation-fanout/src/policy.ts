import { signatureWindowMs } from './peers/signature.ts'

/** The numbers that the contract gives this service, and those it needs to keep them. Times in milliseconds. */
export const policy = {
  /** How long one instance may take to delete an identity, name lookup included. Contract: 7, fan-out. */
  fanoutTimeoutMs: 15_000,
  /** A peer gives up after 15 s, so the answer has to leave before. */
  deleteCallTimeoutMs: 14_000,
  stubCallTimeoutMs: 5_000,
  forgetCallTimeoutMs: 3_000,
  forgetAttempts: 3,
  /** An offer is answered after the other side's own proof, so it waits longer than that. */
  offerTimeoutMs: 14_000,
  proofTimeoutMs: 8_000,
  /** Longer than any handshake can take: an offer this old was left behind by a process that died. */
  offerLifetimeMs: 60_000,
  /** 256 bits. Contract: 7. */
  secretBytes: 32,
  /** A timestamp may lie a window ahead and is accepted for a window after: a nonce is remembered for both. */
  nonceLifetimeMs: 2 * signatureWindowMs,
  nonceSweepMs: 60_000,
  nonceSweepRows: 5_000,
  /** Characters of another instance's text that are passed on to a person. */
  remoteTextMax: 200,
  approvalRequestsShown: 200,
} as const
