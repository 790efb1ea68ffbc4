const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute

export const policy = {
  /** How late a change of the keys or of the setting may be seen by a replica. */
  refreshMs: second,
  /** The former secret still works, so that an application can change without an outage. Contract: 3, Applications. */
  previousSecretMs: day,
  /** Of one account, as log-ins of one network. */
  deviceCodeAttempts: { name: 'openid-device-code', requests: 15, windowMs: 2 * minute },
  /** What anybody may have stored in the name of a public application: devices that wait, and pushed requests. */
  storedRequests: {
    ofNetwork: { name: 'openid-stored-network', requests: 60, windowMs: minute },
    ofApplication: { name: 'openid-stored-application', requests: 600, windowMs: minute },
  },
  grantsAtOneApplication: 50,
  grantsOfAccount: 1_000,
  sweepIntervalMs: 10 * minute,
  rowsRemovedAtOnce: 1_000,
} as const

/** In seconds, as the library takes them. Contract: 3, Applications. */
export const lifetimes = {
  jwtSeconds: 300,
  AccessToken: (_ctx: unknown, token: { resourceServer?: unknown }): number => (token.resourceServer ? 300 : 600),
  AuthorizationCode: 60,
  DeviceCode: 600,
  // Extended by each refresh token.
  Grant: 3_600,
  IdToken: 3_600,
  Interaction: 600,
  RefreshToken: 30 * 24 * 3_600,
  // Only the state of a log-out.
  Session: 600,
} as const
