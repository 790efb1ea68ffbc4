import type { EndpointInput, EndpointReply } from '@gatehouse/contracts'
import { adminRows } from '@gatehouse/contracts/endpoints'
import type { Call } from './call.ts'
import type { CallOptions } from './options.ts'
import type * as records from './records.ts'

type AdminEndpointName = keyof typeof adminRows

/** The endpoints whose only parameter is an id, and those without any input. */
type EndpointById = {
  [N in AdminEndpointName]: EndpointInput<N> extends { params: { id: string } }
    ? { params: { id: string } } extends EndpointInput<N>
      ? N
      : never
    : never
}[AdminEndpointName]
type EndpointWithoutInput = {
  [N in AdminEndpointName]: unknown extends EndpointInput<N> ? N : never
}[AdminEndpointName]

/** The endpoints for admins. */
export type AdminApi = ReturnType<typeof createAdminApi>

/** Makes the endpoints for admins. `createCall` is that of call.ts: given, so that the main module need not share it. */
export function createAdminApi(createCall: (rows: object) => unknown) {
  const call = createCall(adminRows) as Call<AdminEndpointName>
  // The endpoints' types above say that these inputs suffice, which TypeScript cannot derive for a name still open.
  const plain =
    <N extends EndpointWithoutInput>(name: N) =>
    (options?: CallOptions): Promise<EndpointReply<N>> =>
      call(name, { ...options } as EndpointInput<N> & CallOptions)
  const byId =
    <N extends EndpointById>(name: N) =>
    (id: string, options?: CallOptions): Promise<EndpointReply<N>> =>
      call(name, { params: { id }, ...options } as unknown as EndpointInput<N> & CallOptions)
  return {
    /** Invite links. Contract: 4. */
    invites: {
      create: (body: records.NewInvite, options?: CallOptions) => call('createInvite', { body, ...options }),
      list: (query?: records.InviteQuery, options?: CallOptions) => call('listInvites', { query, ...options }),
      change: (id: string, body: records.InviteChange, options?: CallOptions) =>
        call('patchInvite', { params: { id }, body, ...options }),
      revoke: byId('revokeInvite'),
      reinstate: (id: string, body: records.InviteLimits = {}, options?: CallOptions) =>
        call('reinstateInvite', { params: { id }, body, ...options }),
      remove: byId('deleteInvite'),
      listRedemptions: (id: string, query?: records.PageQuery, options?: CallOptions) =>
        call('listRedemptions', { params: { id }, query, ...options }),
    },

    /** Accounts, settings and the audit log. Contract: 5. */
    admin: {
      listUsers: (query?: records.UserQuery, options?: CallOptions) => call('listUsers', { query, ...options }),
      /** The home instances that users have, for a filter of the list. */
      listUserInstances: plain('listUserInstances'),
      setRole: (id: string, isAdmin: boolean, options?: CallOptions) =>
        call('setRole', { params: { id }, body: { isAdmin }, ...options }),
      /** The only reply that shows the temporary password. */
      resetPassword: byId('resetPassword'),
      deleteUser: byId('deleteUser'),
      settings: plain('getSettings'),
      changeSettings: (body: records.SettingsChange, options?: CallOptions) =>
        call('patchSettings', { body, ...options }),
      listAudit: (query?: records.PageQuery, options?: CallOptions) => call('listAudit', { query, ...options }),
    },

    /** Other instances that this one trusts. Contract: 7. */
    peers: {
      initiate: (remoteOrigin: string, options?: CallOptions) =>
        call('initiatePeer', { body: { remoteOrigin }, ...options }),
      list: plain('listPeers'),
      revoke: byId('revokePeer'),
      /** Removes a revoked or rejected peer from the list. */
      forget: byId('forgetPeer'),
      /** Forgets a peer that needs attention, so that it can be peered with anew. */
      reset: byId('resetPeer'),
      recheck: byId('recheckPeer'),
      rotate: byId('rotatePeer'),
      setRotation: (id: string, autoRotateIntervalDays: number, options?: CallOptions) =>
        call('patchPeer', { params: { id }, body: { autoRotateIntervalDays }, ...options }),
      listApprovalRequests: plain('listApprovalRequests'),
      approve: byId('approveRequest'),
      deny: byId('denyRequest'),
    },
  }
}
