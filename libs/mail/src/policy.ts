export const policy = {
  mailConnections: 4,
  /** Of one attempt, which its lease outlives. */
  mailAttemptMs: 60_000,
  /** Between two looks for mails to send: so long a connection waits for the next one. */
  mailIntervalMs: 2_000,
} as const
