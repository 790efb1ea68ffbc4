export const policy = {
  /** Of one answer, and of all that a provider is asked for one request. */
  providerAnswerBytes: 1024 * 1024,
  providerTimeoutMs: 10_000,
  providerKeysMax: 100,
  /** What a provider says of itself is read again after a day, after a failure or for an unknown key once a minute. */
  providerMetadataMs: 24 * 60 * 60 * 1000,
  providerRetryMs: 60_000,
} as const
