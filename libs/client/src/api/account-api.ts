import { ApiError } from './errors.ts'
import type {
  Availability,
  Credentials,
  DeletionMode,
  IdentityDeletions,
  InstanceInfo,
  InviteCheck,
  ProfileChange,
  Registration,
  SignedIn,
  Upload,
  User,
} from './records.ts'
import type { CallOptions, Request } from './request.ts'

/** Registration and log-in. Contract: 3. */
export function authApi(request: Request) {
  return {
    register: (registration: Registration, call: CallOptions = {}) =>
      request<SignedIn>('POST', '/api/auth/register', { ...call, json: registration, anonymous: true }),
    login: (credentials: Credentials, call: CallOptions = {}) =>
      request<SignedIn>('POST', '/api/auth/login', { ...call, json: credentials, anonymous: true }),
    /** A refusal that carries a reason (closed, missing) is an answer, not an error. */
    checkUsername: async (username: string, call: CallOptions = {}): Promise<Availability> => {
      try {
        const query = { username }
        return await request<Availability>('GET', '/api/auth/check-username', { ...call, query, anonymous: true })
      } catch (error) {
        const reason = error instanceof ApiError && error.fields['available'] === false && error.fields['reason']
        if (typeof reason !== 'string') throw error
        return { available: false, reason }
      }
    },
    checkInvite: (token: string, call: CallOptions = {}) =>
      request<InviteCheck>('GET', '/api/auth/check-invite', { ...call, query: { token }, anonymous: true }),
  }
}

/** One's own account and other users. Contract: 3. */
export function usersApi(request: Request) {
  return {
    me: (call: CallOptions = {}) => request<User>('GET', '/api/users/@me', call),
    update: (change: ProfileChange, call: CallOptions = {}) =>
      request<User>('PATCH', '/api/users/@me', { ...call, json: change }),
    find: (id: string, call: CallOptions = {}) => request<User>('GET', `/api/users/${encodeURIComponent(id)}`, call),
    verifyPassword: (password: string, call: CallOptions = {}) =>
      request<{ valid: boolean }>('POST', '/api/users/@me/verify-password', { ...call, json: { password } }),
    /** The answered token replaces every earlier one. `currentPassword` may be left out by federated users. */
    changePassword: (passwords: { currentPassword?: string; newPassword: string }, call: CallOptions = {}) =>
      request<{ token: string }>('POST', '/api/users/@me/change-password', { ...call, json: passwords }),
    /** Deletes the account on this one instance. A 400 may name owned spaces: see listOwnedSpaces. */
    deleteSelf: (proof: Credentials, call: CallOptions = {}) =>
      request<{ success: true }>('DELETE', '/api/users/@me', { ...call, json: proof }),
    deleteFederationIdentity: (input: { origins: string[]; mode: DeletionMode }, call: CallOptions = {}) =>
      request<{ results: IdentityDeletions }>('POST', '/api/users/@me/federation-identity/delete', {
        ...call,
        json: input,
      }),
  }
}

/** Files for the profile, at most 8 MiB. Contract: 3, uploads. */
export function uploadsApi(request: Request, origin: string) {
  return {
    send: (file: Blob, call: CallOptions = {}) => {
      const form = new FormData()
      form.append('file', file)
      return request<Upload>('POST', '/api/uploads', { ...call, form })
    },
    /** Where the picture of a user on this instance is; null stays null. */
    url: <T extends string | null>(filename: T) =>
      (filename === null ? null : `${origin}/api/uploads/${encodeURIComponent(filename)}`) as T,
  }
}

export function instanceApi(request: Request) {
  return {
    info: (call: CallOptions = {}) => request<InstanceInfo>('GET', '/api/instance/info', { ...call, anonymous: true }),
  }
}
