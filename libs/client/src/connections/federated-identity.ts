import { normalizeHost, parseFederatedUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { CallOptions } from '../api/options.ts'
import type { Registration, SignedIn, User } from '../api/records.ts'

/** A user as other instances know them: all of a registration there but the password. */
export type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

/** The identity of the own user; `currentHost` is their home unless they have another. Spec: Registration 2. */
export function federatedIdentityOf(user: User, currentHost: string): FederatedIdentity {
  const homeInstance = normalizeHost(user.homeInstance ?? currentHost)
  return {
    username: `${parseFederatedUsername(user.username).baseName}@${homeInstance}`,
    homeInstance,
    homeUserId: user.homeInstance ? user.homeUserId : user.id,
    ...(user.displayName ? { displayName: user.displayName } : {}),
    ...(user.avatarColor ? { avatarColor: user.avatarColor } : {}),
  }
}

/**
 * Registers the identity on an instance, or logs in where it exists already: after a 409, and after another refusal whose
 * text says `already taken`, as the instances differ in the status. Contract: 3. Closed federated registration does
 * not exclude existing accounts, so after a 403 a log-in is tried too, and the 403 is thrown when that is refused.
 * `knownUsername` is the user's name there when it differs. Spec: Registration 6 and 10. Throws the errors of the API.
 */
export async function signInByIdentity(
  api: Pick<Api, 'auth'>,
  identity: FederatedIdentity,
  secrets: { password: string; knownUsername?: string | null },
  options: CallOptions = {},
): Promise<SignedIn> {
  const { password, knownUsername } = secrets
  try {
    return await api.auth.register({ ...identity, password }, options)
  } catch (refusal) {
    const status = refusal instanceof ApiError ? refusal.status : null
    const exists = status === 409 || (status !== null && /already taken/i.test((refusal as ApiError).message))
    if (!exists && status !== 403) throw refusal
    try {
      return await api.auth.login({ username: knownUsername ?? identity.username, password }, options)
    } catch (error) {
      throw !exists && error instanceof ApiError && error.status === 401 ? refusal : error
    }
  }
}
