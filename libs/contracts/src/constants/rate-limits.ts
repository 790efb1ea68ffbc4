import type { EndpointName } from '../endpoints/table.ts'

/** How many requests one address, or one account, may make to an endpoint in a window. Spec: Limits; Contract: 3. */
export type RateLimit = { name: string; requests: number; windowSeconds: number; by?: 'account' }

/** The rate limit of each limited endpoint. Spec: Limits. */
export const rateLimits = {
  register: { name: 'register', requests: 10, windowSeconds: 120 },
  checkUsername: { name: 'check-username', requests: 30, windowSeconds: 60 },
  checkInvite: { name: 'check-invite', requests: 30, windowSeconds: 60 },
  login: { name: 'login', requests: 15, windowSeconds: 120 },
  verifyPassword: { name: 'verify-password', requests: 15, windowSeconds: 120 },
  changePassword: { name: 'change-password', requests: 5, windowSeconds: 900 },
  endSessions: { name: 'end-sessions', requests: 5, windowSeconds: 900 },
  exportData: { name: 'export', requests: 2, windowSeconds: 86_400, by: 'account' },
  deleteSelf: { name: 'delete-self', requests: 3, windowSeconds: 900 },
  deleteFederationIdentity: { name: 'delete-federation-identity', requests: 5, windowSeconds: 900 },
  attachProof: { name: 'attach-proof', requests: 5, windowSeconds: 900 },
  reattach: { name: 'reattach', requests: 5, windowSeconds: 900 },
  acceptPeer: { name: 'accept-peer', requests: 10, windowSeconds: 60 },
  upload: { name: 'upload', requests: 30, windowSeconds: 3600, by: 'account' },
} as const satisfies Partial<Record<EndpointName, RateLimit>>
