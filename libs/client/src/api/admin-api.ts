import type {
  ApprovalRequest,
  AuditEntry,
  InstanceSettings,
  Invite,
  InviteRedemption,
  NewInvite,
  NextPage,
  PageQuery,
  Peer,
  UserPage,
  UserQuery,
} from './admin-records.ts'
import type { User } from './records.ts'
import type { CallOptions, Request } from './request.ts'

/** Invite links. Contract: 4. */
export function invitesApi(request: Request) {
  const at = (id: string, rest = '') => `/api/admin/invites/${encodeURIComponent(id)}${rest}`
  return {
    create: (invite: NewInvite, call: CallOptions = {}) =>
      request<Invite>('POST', '/api/admin/invites', { ...call, json: invite }),
    list: (query: PageQuery & { status?: 'active' | 'archived' } = {}, call: CallOptions = {}) =>
      request<{ invites: Invite[] } & NextPage>('GET', '/api/admin/invites', { ...call, query }),
    change: (id: string, change: Partial<NewInvite>, call: CallOptions = {}) =>
      request<Invite>('PATCH', at(id), { ...call, json: change }),
    revoke: (id: string, call: CallOptions = {}) =>
      request<{ invite: Invite }>('POST', at(id, '/revoke'), { ...call, json: {} }),
    reinstate: (id: string, change: Partial<Omit<NewInvite, 'name'>> = {}, call: CallOptions = {}) =>
      request<{ invite: Invite; tokenRotated: boolean }>('POST', at(id, '/reinstate'), { ...call, json: change }),
    remove: (id: string, call: CallOptions = {}) => request<{ success: true }>('DELETE', at(id), call),
    listRedemptions: (id: string, query: PageQuery = {}, call: CallOptions = {}) =>
      request<{ redemptions: InviteRedemption[] } & NextPage>('GET', at(id, '/redemptions'), { ...call, query }),
  }
}

/** Accounts, settings and the audit log. Contract: 5. */
export function adminApi(request: Request) {
  const at = (id: string, rest = '') => `/api/admin/users/${encodeURIComponent(id)}${rest}`
  return {
    listUsers: (query: UserQuery = {}, call: CallOptions = {}) =>
      request<UserPage>('GET', '/api/admin/users', { ...call, query }),
    setRole: (id: string, isAdmin: boolean, call: CallOptions = {}) =>
      request<User>('PATCH', at(id, '/role'), { ...call, json: { isAdmin } }),
    /** The temporary password is shown this once. */
    resetPassword: (id: string, call: CallOptions = {}) =>
      request<{ temporaryPassword: string }>('POST', at(id, '/reset-password'), { ...call, json: {} }),
    deleteUser: (id: string, call: CallOptions = {}) => request<{ success: true }>('DELETE', at(id), call),
    settings: (call: CallOptions = {}) => request<InstanceSettings>('GET', '/api/admin/settings', call),
    changeSettings: (change: Partial<InstanceSettings>, call: CallOptions = {}) =>
      request<InstanceSettings>('PATCH', '/api/admin/settings', { ...call, json: change }),
    listAudit: (query: PageQuery = {}, call: CallOptions = {}) =>
      request<{ entries: AuditEntry[] } & NextPage>('GET', '/api/admin/audit', { ...call, query }),
  }
}

/** Other instances this one trusts. Contract: 7. */
export function peersApi(request: Request) {
  const requests = '/api/federation/approval-requests'
  return {
    initiate: (remoteOrigin: string, call: CallOptions = {}) =>
      request<{ peer: Peer }>('POST', '/api/federation/peer/initiate', { ...call, json: { remoteOrigin } }),
    list: (call: CallOptions = {}) => request<{ peers: Peer[] }>('GET', '/api/federation/peers', call),
    revoke: (id: string, call: CallOptions = {}) =>
      request<{ success: true }>('DELETE', `/api/federation/peers/${encodeURIComponent(id)}`, call),
    listApprovalRequests: (call: CallOptions = {}) => request<{ requests: ApprovalRequest[] }>('GET', requests, call),
    approve: (id: string, call: CallOptions = {}) =>
      request<{ success: true }>('POST', `${requests}/${encodeURIComponent(id)}/approve`, { ...call, json: {} }),
    deny: (id: string, call: CallOptions = {}) =>
      request<{ success: true }>('POST', `${requests}/${encodeURIComponent(id)}/deny`, { ...call, json: {} }),
  }
}
