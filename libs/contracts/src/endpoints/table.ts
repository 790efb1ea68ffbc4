import type { ServiceName } from '../services.ts'

/** `peer`: the service verifies the signature. `upstream`: the gateway verifies a statement of the upstream's own. */
export type Access = 'anyone' | 'bearer' | 'admin' | 'peer' | 'upstream'

/** What an upstream may ask for, by its `asks` in the file of upstreams. docs/integrate/ask-and-answer.md */
export const upstreamRights = ['accounts', 'presence'] as const
export type UpstreamRight = (typeof upstreamRights)[number]

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Limit = { requests: number; windowSeconds: number; by?: 'account' | 'upstream' }
/** Requests under one `name` share a count. Spec: Limits; Contract: 1, rate limits. */
export type RateLimit = Limit & { name: string }

export type EndpointRow = {
  method: Method
  path: string
  access: Access
  service: ServiceName
  limit?: Limit
  /** The service gets a query that is not encoded correctly. Otherwise it is refused. */
  anyQuery?: boolean
  /** A bearer token counts although none is required. */
  readsToken?: boolean
  /** The service gets the cookies of the request. */
  readsCookies?: boolean
  /** With access `upstream`. */
  right?: UpstreamRight
}

export function rowsOf<S extends ServiceName>(service: S) {
  return <M extends Method, P extends string, A extends Access>(method: M, path: P, access: A, limit?: Limit) => ({
    method,
    path,
    access,
    service,
    ...(limit && { limit }),
  })
}

const identity = rowsOf('identity')
const invite = rowsOf('invite')
const federation = rowsOf('federation-fanout')
const sessionGateway = rowsOf('session-gateway')
const openid = rowsOf('openid')

/** Each endpoint counts alone. Contract: 1, rate limits. */
const ownWrites = { requests: 60, windowSeconds: 60, by: 'account' } as const

const likeLogin = { requests: 15, windowSeconds: 120 } as const
/** Each opened login page asks, and a provider for all its people. They cost little and are not stored. */
const offers = { requests: 300, windowSeconds: 60 } as const
const checks = { requests: 30, windowSeconds: 60 } as const
const twiceADay = { requests: 2, windowSeconds: 86_400, by: 'account' } as const
const seldom = { requests: 5, windowSeconds: 900 } as const
const ofUpstream = { requests: 600, windowSeconds: 60, by: 'upstream' } as const
const ofAccounts = { right: 'accounts' } as const
const ofPresence = { right: 'presence' } as const

/** In the order of the contract. Plain data: loads no package. */
export const endpointTable = {
  // Accounts. Contract: 3, as a whole.
  register: identity('POST', '/api/auth/register', 'anyone', { requests: 10, windowSeconds: 120 }),
  checkUsername: identity('GET', '/api/auth/check-username', 'anyone', checks),
  checkInvite: { ...invite('GET', '/api/auth/check-invite', 'anyone', checks), anyQuery: true },
  readRegistration: identity('POST', '/api/auth/registration', 'anyone', checks),
  proofChallenge: identity('GET', '/api/auth/challenge', 'anyone', offers),
  login: identity('POST', '/api/auth/login', 'anyone', likeLogin),
  recover: identity('POST', '/api/auth/recover', 'anyone', likeLogin),
  requestRecovery: identity('POST', '/api/auth/recover/request', 'anyone', likeLogin),
  confirmEmail: identity('POST', '/api/auth/email/confirm', 'anyone', checks),
  setEmail: identity('PUT', '/api/users/@me/email', 'bearer', likeLogin),
  removeEmail: identity('DELETE', '/api/users/@me/email', 'bearer', likeLogin),
  getSelf: identity('GET', '/api/users/@me', 'bearer'),
  patchSelf: identity('PATCH', '/api/users/@me', 'bearer', ownWrites),
  getUser: identity('GET', '/api/users/:id', 'bearer'),
  verifyPassword: identity('POST', '/api/users/@me/verify-password', 'bearer', likeLogin),
  changePassword: identity('POST', '/api/users/@me/change-password', 'bearer', seldom),
  deleteSelf: identity('DELETE', '/api/users/@me', 'bearer', { requests: 3, windowSeconds: 900 }),
  deleteFederationIdentity: identity('POST', '/api/users/@me/federation-identity/delete', 'bearer', seldom),
  listDeletionOrders: identity('GET', '/api/users/@me/federation-identity/orders', 'bearer'),
  upload: identity('POST', '/api/uploads', 'bearer', { requests: 30, windowSeconds: 3600, by: 'account' }),
  getUpload: identity('GET', '/api/uploads/:filename', 'anyone'),
  instanceInfo: identity('GET', '/api/instance/info', 'anyone'),
  endSessions: identity('POST', '/api/users/@me/sessions/end', 'bearer', seldom),
  renewToken: identity('POST', '/api/users/@me/renew', 'bearer', { ...likeLogin, by: 'account' }),
  listSockets: sessionGateway('GET', '/api/users/@me/sockets', 'bearer'),
  listSignIns: identity('GET', '/api/users/@me/sign-ins', 'bearer'),
  exportData: identity('POST', '/api/users/@me/export', 'bearer', twiceADay),
  getRegistry: identity('GET', '/api/users/@me/federation-registry', 'bearer'),
  putRegistry: identity('PUT', '/api/users/@me/federation-registry', 'bearer', ownWrites),
  federationCredential: identity('POST', '/api/users/@me/federation-credential', 'bearer'),
  attachProof: identity('POST', '/api/auth/attach-proof', 'bearer', seldom),
  reattach: identity('POST', '/api/users/@me/reattach', 'bearer', seldom),
  readSecondFactor: identity('GET', '/api/users/@me/second-factor', 'bearer'),
  beginSecondFactor: identity('POST', '/api/users/@me/second-factor', 'bearer', likeLogin),
  confirmSecondFactor: identity('POST', '/api/users/@me/second-factor/confirm', 'bearer', likeLogin),
  renewRecoveryCodes: identity('POST', '/api/users/@me/second-factor/recovery-codes', 'bearer', likeLogin),
  endSecondFactor: identity('DELETE', '/api/users/@me/second-factor', 'bearer', likeLogin),
  passkeyOptions: identity('POST', '/api/auth/passkey/options', 'anyone', offers),
  logInByPasskey: identity('POST', '/api/auth/passkey', 'anyone', likeLogin),
  beginPasskey: identity('POST', '/api/users/@me/passkeys/options', 'bearer', likeLogin),
  addPasskey: identity('POST', '/api/users/@me/passkeys', 'bearer', likeLogin),
  listPasskeys: identity('GET', '/api/users/@me/passkeys', 'bearer'),
  removePasskey: identity('DELETE', '/api/users/@me/passkeys/:id', 'bearer', likeLogin),
  listProviders: identity('GET', '/api/auth/providers', 'anyone', offers),
  startProvider: {
    ...identity('POST', '/api/auth/providers/:provider/start', 'anyone', checks),
    readsToken: true,
    readsCookies: true,
  },
  providerCallback: {
    ...identity('GET', '/api/auth/providers/:provider/callback', 'anyone', checks),
    anyQuery: true,
    readsCookies: true,
  },
  finishProvider: { ...identity('POST', '/api/auth/providers/finish', 'anyone', likeLogin), readsToken: true },
  listLinkedIdentities: identity('GET', '/api/users/@me/identities', 'bearer'),
  unlinkIdentity: identity('DELETE', '/api/users/@me/identities/:id', 'bearer', likeLogin),
  backChannelLogout: identity('POST', '/api/auth/providers/:provider/back-channel-logout', 'anyone', offers),

  // What applications call is in protocol.ts. Contract: 3, applications.
  listConnectedApplications: openid('GET', '/api/users/@me/applications', 'bearer'),
  endConnectedApplication: openid('DELETE', '/api/users/@me/applications/:id', 'bearer', ownWrites),
  readInteraction: { ...openid('GET', '/oauth2/interaction/:uid/details', 'bearer', ownWrites), readsCookies: true },
  decideInteraction: {
    ...openid('POST', '/oauth2/interaction/:uid/decision', 'bearer', ownWrites),
    readsCookies: true,
  },
  readDeviceCode: openid('POST', '/oauth2/device-code', 'bearer', likeLogin),
  decideDeviceCode: openid('POST', '/oauth2/device-code/decision', 'bearer', likeLogin),

  // Called by upstreams, so the client has none of them. Contract: 3, upstreams.
  readAccounts: { ...identity('POST', '/api/upstream/accounts', 'upstream', ofUpstream), ...ofAccounts },
  listAccountChanges: { ...identity('GET', '/api/upstream/accounts/changes', 'upstream', ofUpstream), ...ofAccounts },
  readPresences: { ...sessionGateway('POST', '/api/upstream/presence', 'upstream', ofUpstream), ...ofPresence },

  // For admins, who also see and change those of members. Contract: 4, invites.
  createInvite: invite('POST', '/api/admin/invites', 'admin'),
  listInvites: invite('GET', '/api/admin/invites', 'admin'),
  patchInvite: invite('PATCH', '/api/admin/invites/:id', 'admin'),
  revokeInvite: invite('POST', '/api/admin/invites/:id/revoke', 'admin'),
  reinstateInvite: invite('POST', '/api/admin/invites/:id/reinstate', 'admin'),
  deleteInvite: invite('DELETE', '/api/admin/invites/:id', 'admin'),
  listRedemptions: invite('GET', '/api/admin/invites/:id/redemptions', 'admin'),

  // Invites of others are unknown here, also to admins. Contract: 4, invites of members.
  createOwnInvite: invite('POST', '/api/invites', 'bearer', ownWrites),
  listOwnInvites: invite('GET', '/api/invites', 'bearer'),
  revokeOwnInvite: invite('POST', '/api/invites/:id/revoke', 'bearer', ownWrites),

  // Administration. Contract: 5, as a whole.
  overview: identity('GET', '/api/admin/overview', 'admin'),
  listUsers: identity('GET', '/api/admin/users', 'admin'),
  describeUser: identity('GET', '/api/admin/users/:id', 'admin'),
  setRole: identity('PATCH', '/api/admin/users/:id/role', 'admin'),
  resetPassword: identity('POST', '/api/admin/users/:id/reset-password', 'admin'),
  createRecoveryLink: identity('POST', '/api/admin/users/:id/recovery-link', 'admin'),
  suspendUser: identity('POST', '/api/admin/users/:id/suspend', 'admin'),
  unsuspendUser: identity('POST', '/api/admin/users/:id/unsuspend', 'admin'),
  endUserSessions: identity('POST', '/api/admin/users/:id/sessions/end', 'admin'),
  deleteUser: identity('DELETE', '/api/admin/users/:id', 'admin'),
  removeSecondFactor: identity('DELETE', '/api/admin/users/:id/second-factor', 'admin'),
  listUserInstances: identity('GET', '/api/admin/users/instances', 'admin'),
  getSettings: identity('GET', '/api/settings/instance', 'admin'),
  patchSettings: identity('PATCH', '/api/settings/instance', 'admin'),
  listOpenOrders: identity('GET', '/api/admin/deletion-orders', 'admin'),
  listUpstreamDeletions: identity('GET', '/api/admin/upstream-deletions', 'admin'),
  listRegistrations: identity('GET', '/api/admin/registrations', 'admin'),
  approveRegistration: identity('POST', '/api/admin/registrations/:id/approve', 'admin'),
  denyRegistration: identity('POST', '/api/admin/registrations/:id/deny', 'admin'),
  restoreRegistration: identity('POST', '/api/admin/registrations/:id/restore', 'admin'),
  decideRegistrations: identity('POST', '/api/admin/registrations/decide', 'admin'),
  listAudit: identity('GET', '/api/admin/audit', 'admin'),
  listApplications: openid('GET', '/api/admin/applications', 'admin'),
  createApplication: openid('POST', '/api/admin/applications', 'admin'),
  patchApplication: openid('PATCH', '/api/admin/applications/:id', 'admin'),
  deleteApplication: openid('DELETE', '/api/admin/applications/:id', 'admin'),
  renewApplicationSecret: openid('POST', '/api/admin/applications/:id/secret', 'admin'),
  testApplicationReceiver: openid('POST', '/api/admin/applications/:id/verify', 'admin'),

  // Federation. Contract: 7, as a whole.
  deleteIdentity: federation('DELETE', '/api/federation/identity', 'peer'),
  receiptKeys: federation('GET', '/api/federation/receipt-keys', 'anyone'),
  epoch: federation('POST', '/api/federation/epoch', 'peer'),
  resolveStub: federation('POST', '/api/federation/stubs', 'peer'),
  acceptPeer: federation('POST', '/api/federation/peer/accept', 'anyone', { requests: 10, windowSeconds: 60 }),
  initiatePeer: federation('POST', '/api/federation/peer/initiate', 'admin'),
  listPeers: federation('GET', '/api/federation/peers', 'admin'),
  revokePeer: federation('DELETE', '/api/federation/peers/:id', 'admin'),
  listApprovalRequests: federation('GET', '/api/federation/approval-requests', 'admin'),
  approveRequest: federation('POST', '/api/federation/approval-requests/:id/approve', 'admin'),
  denyRequest: federation('POST', '/api/federation/approval-requests/:id/deny', 'admin'),
  patchPeer: federation('PATCH', '/api/federation/peers/:id', 'admin'),
  forgetPeer: federation('DELETE', '/api/federation/peers/:id/permanent', 'admin'),
  resetPeer: federation('POST', '/api/federation/peers/:id/reset', 'admin'),
  recheckPeer: federation('POST', '/api/federation/peers/:id/recheck', 'admin'),
  rotatePeer: federation('POST', '/api/federation/peers/:id/rotate', 'admin'),
  ensurePeer: federation('POST', '/api/federation/peer/ensure', 'bearer'),
  peerDenied: federation('POST', '/api/federation/peer/denied', 'peer'),
  rotatePeerSecret: federation('POST', '/api/federation/peer/rotate', 'peer'),
  relay: federation('POST', '/api/federation/relay', 'peer'),
  sync: federation('POST', '/api/federation/sync', 'peer'),
  lookUpUser: federation('POST', '/api/federation/users/lookup', 'peer'),
  lookUpByHomeId: federation('POST', '/api/federation/users/by-home-id', 'peer'),
  verifyAttachProof: federation('POST', '/api/federation/verify-attach-proof', 'peer'),
}
export type EndpointName = keyof typeof endpointTable

/** Open to anyone, and called by no client, but by peers, identity providers and the browser itself. */
export const openServerEndpoints = ['acceptPeer', 'receiptKeys', 'providerCallback', 'backChannelLogout'] as const

type ServerEndpointName =
  | (typeof openServerEndpoints)[number]
  | { [N in EndpointName]: (typeof endpointTable)[N]['access'] extends 'peer' | 'upstream' ? N : never }[EndpointName]
export type ClientEndpointName = Exclude<EndpointName, ServerEndpointName>

export const gatewayPaths = ['/api/health', '/api/openapi.json', '/api/docs', '/api/upstream-keys'] as const
