const second = 1_000
const minute = 60 * second

export const noticePolicy = {
  /** Since the event: a receiver that is down for longer loses the notice. Contract: 3, Applications. */
  keptMs: 3 * 24 * 60 * minute,
  requestMs: 10 * second,
  /** Longer than a request. A replica that dies holds its receiver for so long. */
  leaseMs: 20 * second,
  /** After each failure of the first notice that waits. */
  backoff: { firstMs: 5 * second, mostMs: 15 * minute },
  intervalMs: 5 * second,
  /** Between two verifications that one application asks for. */
  verificationMs: minute,
  /** OpenID Connect Back-Channel Logout 1.0, 2.4: a logout token lives at most two minutes. */
  logoutTokenSeconds: 120,
  errorLength: 200,
} as const
