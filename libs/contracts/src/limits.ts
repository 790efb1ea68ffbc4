/** Every number that the specification and the contract fix for clients, with its unit in the name. */
export const limits = {
  jsonBodyBytes: 64 * 1024,
  passwordMinCodePoints: 8,
  passwordMaxBytes: 72,
  localUsernameMin: 3,
  localUsernameMax: 32,
  federatedUsernameMax: 100,
  hostMax: 253,
  displayNameMax: 32,
  bioMax: 190,
  customStatusMax: 128,
  replicatedInstancesMax: 20,
  uploadBytes: 8 * 1024 * 1024,
  inviteNameMax: 64,
  inviteTokenCharacters: 22,
  /** The last moment of the year 9999: later years have more digits, which PostgreSQL does not read. */
  inviteExpiresAtMaxMs: 253_402_300_799_999,
  fanoutOriginsMax: 100,
  pageSizeDefault: 50,
  pageSizeMax: 100,
  socketAuthTimeoutMs: 10_000,
  socketFirstMessageBytes: 4 * 1024,
  socketMessageBytes: 16 * 1024,
  socketBurst: 30,
  socketRefillPerSecond: 2,
  unauthenticatedSocketsPerAddress: 100,
  socketHeartbeatMs: 30_000,
  socketSilenceMs: 65_000,
  presenceGraceMs: 5_000,
} as const

/** How many requests an address may make to a route in a window. Spec: Limits. */
export type RateLimit = { name: string; requests: number; windowSeconds: number }

export const rateLimits = {
  register: { name: 'register', requests: 10, windowSeconds: 120 },
  checkUsername: { name: 'check-username', requests: 30, windowSeconds: 60 },
  checkInvite: { name: 'check-invite', requests: 30, windowSeconds: 60 },
  login: { name: 'login', requests: 15, windowSeconds: 120 },
  verifyPassword: { name: 'verify-password', requests: 15, windowSeconds: 120 },
  changePassword: { name: 'change-password', requests: 5, windowSeconds: 900 },
  deleteSelf: { name: 'delete-self', requests: 3, windowSeconds: 900 },
  deleteFederationIdentity: { name: 'delete-federation-identity', requests: 5, windowSeconds: 900 },
  acceptPeer: { name: 'accept-peer', requests: 10, windowSeconds: 60 },
} as const satisfies Record<string, RateLimit>

/** Spec: User record, avatarColor. */
export const avatarColors = ['mint', 'sky', 'lavender', 'coral', 'rose', 'teal', 'amber'] as const
export type AvatarColor = (typeof avatarColors)[number]
