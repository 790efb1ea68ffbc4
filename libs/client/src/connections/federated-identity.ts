import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { Registration, SignedIn, User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'
import { normalizeHost, parseFederatedUsername } from '../identity/identity.ts'

/** Who a user is on other instances: everything a registration there needs but the password. */
export type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

/** The identity of the own user; `currentHost` is their home unless they have another. Spec: Registration 2. */
export function federatedIdentityOf(user: User, currentHost: string): FederatedIdentity {
  const homeInstance = normalizeHost(user.homeInstance ?? currentHost)
  return {
    username: `${parseFederatedUsername(user.username).base}@${homeInstance}`,
    homeInstance,
    homeUserId: user.homeInstance ? user.homeUserId : user.id,
    ...(user.displayName ? { displayName: user.displayName } : {}),
    ...(user.avatarColor ? { avatarColor: user.avatarColor } : {}),
  }
}

/**
 * Registers the identity on an instance, or logs in where it exists already (409). A closed federated gate does not
 * keep existing accounts out, so 403 is also followed by a log-in, and stands when that fails. `knownUsername` is the
 * name the user has there when it differs. Spec: Registration 6 and 10. Throws the errors of the API.
 */
export async function signInByIdentity(
  api: Pick<Api, 'auth'>,
  identity: FederatedIdentity,
  proof: { password: string; knownUsername?: string | null },
  call: CallOptions = {},
): Promise<SignedIn> {
  const { password } = proof
  try {
    return await api.auth.register({ ...identity, password }, call)
  } catch (refusal) {
    const status = refusal instanceof ApiError ? refusal.status : null
    if (status !== 409 && status !== 403) throw refusal
    try {
      return await api.auth.login({ username: proof.knownUsername ?? identity.username, password }, call)
    } catch (error) {
      throw status === 403 && error instanceof ApiError && error.status === 401 ? refusal : error
    }
  }
}
