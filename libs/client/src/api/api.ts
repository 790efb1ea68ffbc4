import { userRows } from '@gatehouse/contracts/endpoints'
import type { adminRows } from '@gatehouse/contracts/endpoints'
import type { AdminApi } from './admin-api.ts'
import { createCall, fillPath } from './call.ts'
import { ApiError } from './errors.ts'
import type { ApiOptions, CallOptions } from './options.ts'
import type * as records from './records.ts'

/** Every public endpoint of one instance. All calls take `{ signal }` last and throw the errors of `errors.ts`. */
export type Api = ReturnType<typeof createApi>

/** Makes the API of the instance at `apiOptions.origin`, called with the token that `apiOptions.token` gives. */
export function createApi(apiOptions: ApiOptions) {
  const call = createCall(apiOptions, userRows)
  const adminPart = <Part extends keyof AdminApi>(part: Part) =>
    loadLater<AdminApi[Part]>(async () => (await loadAdminApi(apiOptions))[part])
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
      /** Ends all sessions; the token in the reply replaces every earlier one. */
      endSessions: (body: records.SessionsEnd, options?: CallOptions) => call('endSessions', { body, ...options }),
      /** The instances to which the user's clients have connected; the reply's updatedAt is 0 while none is stored. */
      registry: (options?: CallOptions) => call('getRegistry', { ...options }),
      saveRegistry: (body: records.Registry, options?: CallOptions) => call('putRegistry', { body, ...options }),
      /** A proof for the instance at `targetDomain`, where `reattach` binds a detached account to this one. */
      attachProof: (targetDomain: string, options?: CallOptions) =>
        call('attachProof', { body: { targetDomain }, ...options }),
      reattach: (body: records.Reattachment, options?: CallOptions) => call('reattach', { body, ...options }),
      /** Asks for a peering with an instance to which the user has connected. */
      ensurePeer: (remoteOrigin: string, options?: CallOptions) =>
        call('ensurePeer', { body: { remoteOrigin }, ...options }),
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
        (filename === null ? null : apiOptions.origin + fillPath(userRows.getUpload.path, { filename })) as T,
    },

    instance: { info: (options?: CallOptions) => call('instanceInfo', { ...options }) },

    /** Invite links. Contract: 4. Loaded with the first call, like what follows. */
    invites: adminPart('invites'),
    /** Accounts, settings and the audit log. Contract: 5. */
    admin: adminPart('admin'),
    /** Other instances that this one trusts. Contract: 7. */
    peers: adminPart('peers'),
  }
}

async function loadAdminApi(options: ApiOptions): Promise<AdminApi> {
  const { createAdminApi } = await import('./admin-api.ts')
  return createAdminApi((rows) => createCall(options, rows as typeof adminRows))
}

/** Functions that are there at once and load what they do when one is called: most users are not admins. */
function loadLater<T extends object>(load: () => Promise<T>): T {
  const get =
    (_: T, name: string | symbol) =>
    async (...input: unknown[]) =>
      await ((await load()) as Record<string | symbol, (...input: unknown[]) => Promise<unknown>>)[name]?.(...input)
  return new Proxy({} as T, { get })
}
