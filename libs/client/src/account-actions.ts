import type { Api } from './api/api.ts'
import { ApiError } from './api/errors.ts'
import type { User } from './api/records.ts'
import type { Client } from './client-parts.ts'
import { deleteAccount } from './connections/account-deletion.ts'
import type { Connections } from './connections/connections.ts'
import type { PasswordPropagation } from './connections/password-propagation.ts'
import { verifyHomePassword } from './connections/verify-home-password.ts'
import type { KeyValueStorage } from './platform.ts'
import { completeRegistration } from './registration/registration-flow.ts'
import type { PasswordChange } from './session/password-change.ts'
import type { Session, SessionEnd } from './session/session.ts'

export type AccountActions = Pick<
  Client,
  | 'logIn'
  | 'logOut'
  | 'register'
  | 'updateProfile'
  | 'changePassword'
  | 'endSessions'
  | 'deleteAccount'
  | 'deleteFederationIdentities'
>

export type AccountActionsDeps = {
  api: Api
  apiWithToken: (token: string) => Api
  storage: KeyValueStorage
  session: Session
  connections: Connections
  passwordPropagation: PasswordPropagation
  passwordChange: PasswordChange
}

const accountDeleted: SessionEnd = { reason: 'account_deleted', message: 'Your account has been deleted.' }

export function createAccountActions(deps: AccountActionsDeps): AccountActions {
  const { api, session, connections } = deps
  const replaceToken = (request: () => Promise<{ token: string }>) =>
    deps.passwordChange.run(async () => session.replaceToken((await request()).token))
  return {
    logIn: async (credentials, options = {}) => {
      const { token, user } = await api.call('login', { body: credentials, ...options })
      session.initSession(token, user, { password: credentials.password })
      return user
    },
    logOut: session.logout,
    register: (input, options) => completeRegistration(deps, input, options),
    updateProfile: async (change, options = {}) => {
      const user = await api.call('patchSelf', { body: change, ...options })
      session.setUser(user)
      return user
    },
    changePassword: async (passwords, options = {}) => {
      const { homeInstance } = currentUser(session)
      await replaceToken(() => api.call('changePassword', { body: passwords, ...options }))
      // Only at home. Spec: password propagation.
      if (homeInstance === null) void deps.passwordPropagation.propagate(passwords.newPassword)
    },
    endSessions: (password, options = {}) =>
      replaceToken(() => api.call('endSessions', { body: { password }, ...options })),
    deleteAccount: async (credentials, options) => {
      const user = currentUser(session)
      if (credentials.username !== user.username) throw new ApiError(400, 'This is not your username')
      const verifyPassword = () => verifyHomePassword(api, user, credentials.password, options)
      const outcome = await deleteAccount({ api, connections, verifyPassword }, credentials, options)
      const { token } = session.getSnapshot() // null when the socket was closed for the deletion before
      if (outcome.deleted && token) session.invalidateToken(token, accountDeleted)
      return outcome
    },
    deleteFederationIdentities: async (request, options = {}) => {
      const { results } = await api.call('deleteFederationIdentity', { body: request, ...options })
      connections.removeLocally(Object.keys(results).filter((origin) => results[origin]?.success))
      return results
    },
  }
}

function currentUser(session: Session): User {
  const { user } = session.getSnapshot()
  if (!user) throw new ApiError(401, 'Log in first')
  return user
}
