import type { ClientEndpointName } from '@gatehouse/contracts'
import { userRows } from '@gatehouse/contracts/endpoints'
import type { EndpointRow } from '@gatehouse/contracts/endpoints'
import type { AccountApi } from './account-api.ts'
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
  const rowsCall = (rows: object) => createCall(apiOptions, rows as Record<ClientEndpointName, EndpointRow>)
  const adminPart = <Part extends keyof AdminApi>(part: Part) =>
    loadLater<AdminApi[Part]>(async () => (await import('./admin-api.ts')).createAdminApi(rowsCall)[part])
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

    /** The own account and other users; the rest is in `account`. Contract: 3. */
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

    /** The own account: what is called seldom. Contract: 3. Loaded with the first call, like what follows. */
    account: loadLater<AccountApi>(async () => (await import('./account-api.ts')).createAccountApi(rowsCall)),
    /** Invite links. Contract: 4. */
    invites: adminPart('invites'),
    /** Accounts, settings and the audit log. Contract: 5. */
    admin: adminPart('admin'),
    /** Other instances that this one trusts. Contract: 7. */
    peers: adminPart('peers'),
  }
}

/** Functions that are there at once and load what they do when one is called. */
function loadLater<T extends object>(load: () => Promise<T>): T {
  const get =
    (_: T, name: string | symbol) =>
    async (...input: unknown[]) =>
      await ((await load()) as Record<string | symbol, (...input: unknown[]) => Promise<unknown>>)[name]?.(...input)
  return new Proxy({} as T, { get })
}
