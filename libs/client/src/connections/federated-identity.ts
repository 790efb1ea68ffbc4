import { normalizeHost, parseFederatedUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { CallOptions } from '../api/options.ts'
import type { Registration, SignedIn, User } from '../api/records.ts'

export type FederatedIdentity = Omit<Registration, 'password' | 'inviteToken'> & { homeInstance: string }

/** `currentHost`: the default home. Spec: Registration 2. */
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
 * Logs in after a 409 or the text `already taken`: instances differ in the status. Contract: 3. Also after a 403:
 * closed registration does not exclude existing accounts. `knownUsername`: a different name there. Spec: Registration 6
 * and 10. Throws the API's errors.
 */
export async function signInByIdentity(
  api: Pick<Api, 'call'>,
  identity: FederatedIdentity,
  secrets: { password: string; knownUsername?: string | null },
  options: CallOptions = {},
): Promise<SignedIn> {
  const { password, knownUsername } = secrets
  try {
    return await api.call('register', { body: { ...identity, password }, ...options })
  } catch (refusal) {
    const status = refusal instanceof ApiError ? refusal.status : null
    const exists = status === 409 || (status !== null && /already taken/i.test((refusal as ApiError).message))
    if (!exists && status !== 403) throw refusal
    try {
      return await api.call('login', { body: { username: knownUsername ?? identity.username, password }, ...options })
    } catch (error) {
      throw !exists && error instanceof ApiError && error.status === 401 ? refusal : error
    }
  }
}
