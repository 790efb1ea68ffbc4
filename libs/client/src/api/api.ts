import { createCall, pathOf } from './call.ts'
import { ApiError } from './errors.ts'
import type { ApiOptions, CallOptions } from './options.ts'
import type * as records from './records.ts'

/** Every public endpoint of one instance. All calls take `{ signal }` last and throw the errors of `errors.ts`. */
export type Api = ReturnType<typeof createApi>

/** Makes the API of the instance at `apiOptions.origin`, called with the token that `apiOptions.token` gives. */
export function createApi(apiOptions: ApiOptions) {
  const call = createCall(apiOptions)
  return {
    origin: apiOptions.origin,

    /** Registration and log-in. Contract: 3. */
    auth: {
      register: (body: records.Registration, options?: CallOptions) => call('register', { body, ...options }),
      login: (body: records.Credentials, options?: CallOptions) => call('login', { body, ...options }),
      /** A refusal with a reason (registration closed, name missing) is returned, not thrown. */
      checkUsername: async (username: string, options?: CallOptions): Promise<records.Availability> => {
        try {
          return await call('checkUsername', { query: { username }, ...options })
        } catch (error) {
          const reason = error instanceof ApiError && error.fields['available'] === false && error.fields['reason']
          if (typeof reason !== 'string') throw error
          return { available: false, reason }
        }
      },
      checkInvite: (token: string, options?: CallOptions) => call('checkInvite', { query: { token }, ...options }),
    },

    /** The own account and other users. Contract: 3. */
    users: {
      me: (options?: CallOptions) => call('getSelf', { ...options }),
      update: (body: records.ProfileChange, options?: CallOptions) => call('patchSelf', { body, ...options }),
      find: (id: string, options?: CallOptions) => call('getUser', { params: { id }, ...options }),
      verifyPassword: (password: string, options?: CallOptions) =>
        call('verifyPassword', { body: { password }, ...options }),
      /** The token in the reply replaces every earlier one. */
      changePassword: (body: records.PasswordUpdate, options?: CallOptions) =>
        call('changePassword', { body, ...options }),
      /** Deletes the account on this one instance. A 400 may name owned spaces: see listOwnedSpaces. */
      deleteSelf: (body: records.Credentials, options?: CallOptions) => call('deleteSelf', { body, ...options }),
      deleteFederationIdentity: (body: records.IdentityDeletionRequest, options?: CallOptions) =>
        call('deleteFederationIdentity', { body, ...options }),
    },

    /** Images for the profile, at most 8 MiB. Contract: 3, uploads. */
    uploads: {
      send: (file: Blob, options?: CallOptions) => {
        const body = new FormData()
        body.append('file', file)
        return call('upload', { body, ...options })
      },
      /** The address of an image of a user on this instance; null stays null. */
      url: <T extends string | null>(filename: T) =>
        (filename === null ? null : apiOptions.origin + pathOf('getUpload', { filename })) as T,
    },

    instance: { info: (options?: CallOptions) => call('instanceInfo', { ...options }) },

    /** Invite links. Contract: 4. */
    invites: {
      create: (body: records.NewInvite, options?: CallOptions) => call('createInvite', { body, ...options }),
      list: (query?: records.InviteQuery, options?: CallOptions) => call('listInvites', { query, ...options }),
      change: (id: string, body: records.InviteChange, options?: CallOptions) =>
        call('patchInvite', { params: { id }, body, ...options }),
      revoke: (id: string, options?: CallOptions) => call('revokeInvite', { params: { id }, ...options }),
      reinstate: (id: string, body: records.InviteLimits = {}, options?: CallOptions) =>
        call('reinstateInvite', { params: { id }, body, ...options }),
      remove: (id: string, options?: CallOptions) => call('deleteInvite', { params: { id }, ...options }),
      listRedemptions: (id: string, query?: records.PageQuery, options?: CallOptions) =>
        call('listRedemptions', { params: { id }, query, ...options }),
    },

    /** Accounts, settings and the audit log. Contract: 5. */
    admin: {
      listUsers: (query?: records.UserQuery, options?: CallOptions) => call('listUsers', { query, ...options }),
      setRole: (id: string, isAdmin: boolean, options?: CallOptions) =>
        call('setRole', { params: { id }, body: { isAdmin }, ...options }),
      /** The only reply that shows the temporary password. */
      resetPassword: (id: string, options?: CallOptions) => call('resetPassword', { params: { id }, ...options }),
      deleteUser: (id: string, options?: CallOptions) => call('deleteUser', { params: { id }, ...options }),
      settings: (options?: CallOptions) => call('getSettings', { ...options }),
      changeSettings: (body: records.SettingsChange, options?: CallOptions) =>
        call('patchSettings', { body, ...options }),
      listAudit: (query?: records.PageQuery, options?: CallOptions) => call('listAudit', { query, ...options }),
    },

    /** Other instances that this one trusts. Contract: 7. */
    peers: {
      initiate: (remoteOrigin: string, options?: CallOptions) =>
        call('initiatePeer', { body: { remoteOrigin }, ...options }),
      list: (options?: CallOptions) => call('listPeers', { ...options }),
      revoke: (id: string, options?: CallOptions) => call('revokePeer', { params: { id }, ...options }),
      listApprovalRequests: (options?: CallOptions) => call('listApprovalRequests', { ...options }),
      approve: (id: string, options?: CallOptions) => call('approveRequest', { params: { id }, ...options }),
      deny: (id: string, options?: CallOptions) => call('denyRequest', { params: { id }, ...options }),
    },
  }
}
