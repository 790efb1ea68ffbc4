import type { Api } from './api/api.ts'
import { ApiError } from './api/errors.ts'
import type { User } from './api/records.ts'
import type { Client } from './client-parts.ts'
import { deleteAccount } from './connections/account-deletion.ts'
import type { Connections } from './connections/connections.ts'
import type { PasswordPropagation } from './connections/password-propagation.ts'
import type { KeyValueStorage } from './ports.ts'
import { completeRegistration } from './registration/registration-flow.ts'
import type { PasswordChange } from './session/password-change.ts'
import type { Session, SessionEnd } from './session/session.ts'

export type AccountActions = Pick<
  Client,
  'logIn' | 'logOut' | 'register' | 'updateProfile' | 'changePassword' | 'deleteAccount' | 'deleteFederationIdentities'
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

/** What a person does with their account: each call to the instance and all that must follow from it here. */
export function createAccountActions(deps: AccountActionsDeps): AccountActions {
  const { api, session, connections } = deps
  return {
    logIn: async (credentials, call = {}) => {
      const { token, user } = await api.auth.login(credentials, call)
      session.initSession(token, user, { password: credentials.password })
      return user
    },
    logOut: session.logout,
    register: (input, call) => completeRegistration(deps, input, call),
    updateProfile: async (change, call = {}) => {
      const user = await api.users.update(change, call)
      session.setUser(user)
      return user
    },
    changePassword: async (passwords, call = {}) => {
      const { homeInstance } = currentUser(session)
      await deps.passwordChange.run(async () => {
        const { token } = await api.users.changePassword(passwords, call)
        session.replaceToken(token)
      })
      // Only home passes its password on. Spec: password propagation.
      if (homeInstance === null) void deps.passwordPropagation.propagate(passwords.newPassword)
    },
    deleteAccount: async (proof, call) => {
      const outcome = await deleteAccount({ api, connections }, currentUser(session), proof, call)
      const { token } = session.getSnapshot() // none when the socket told of the deletion sooner
      if (outcome.deleted && token) session.refuseToken(token, accountDeleted)
      return outcome
    },
    deleteFederationIdentities: async (input, call = {}) => {
      const { results } = await api.users.deleteFederationIdentity(input, call)
      connections.forget(Object.keys(results).filter((origin) => results[origin]?.success))
      return results
    },
  }
}

function currentUser(session: Session): User {
  const { user } = session.getSnapshot()
  if (!user) throw new ApiError(401, 'Log in first')
  return user
}
