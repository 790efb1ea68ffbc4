import type { Api } from '../api/api.ts'
import { ApiError, listOwnedSpaces } from '../api/errors.ts'
import type { CallOptions } from '../api/options.ts'
import type { Credentials, IdentityDeletion, IdentityDeletions, User } from '../api/records.ts'
import type { Connections } from './connections.ts'
import { verifyHomePassword } from './verify-home-password.ts'

/** The outcome on the own instance; `remotes` has a result for each connected instance in both cases. */
export type AccountDeletion =
  { deleted: true; remotes: IdentityDeletions } | { deleted: false; remotes: IdentityDeletions; error: Error }

/**
 * Deletes the user's identity on each connected instance (empty password, the username there), then the account on the
 * own instance, whatever the results. Throws before anything is deleted when username or password is wrong.
 * Spec: Client session behaviour, deletion propagation.
 */
export async function deleteAccount(
  deps: { api: Pick<Api, 'users'>; connections: Connections },
  user: User,
  credentials: Credentials,
  options: CallOptions = {},
): Promise<AccountDeletion> {
  const { api, connections } = deps
  const connected = connections.getSnapshot().filter(({ token }) => token !== null)
  if (credentials.username !== user.username) throw new ApiError(400, 'This is not your username')
  if (connected.length > 0) await verifyHomePassword(api, user, credentials.password, options)
  const results = await Promise.all(
    connected.map(async ({ origin, username }) => [origin, await deleteOn(connections, origin, username, options)]),
  )
  const remotes = Object.fromEntries(results) as IdentityDeletions
  try {
    await api.users.deleteSelf(credentials, options)
    return { deleted: true, remotes }
  } catch (error) {
    // The account stays, and must not list the deleted identities: the next log-in would register them again.
    const gone = Object.keys(remotes).filter((origin) => remotes[origin]?.success)
    await Promise.allSettled(gone.map((origin) => connections.remove(origin)))
    return { deleted: false, remotes, error: error as Error }
  }
}

async function deleteOn(
  connections: Connections,
  origin: string,
  username: string,
  options: CallOptions,
): Promise<IdentityDeletion> {
  try {
    await connections.apiOf(origin)?.users.deleteSelf({ username, password: '' }, options)
    return { success: true }
  } catch (error) {
    const ownedSpaces = listOwnedSpaces(error)
    return { success: false, error: (error as Error).message, ...(ownedSpaces.length ? { ownedSpaces } : {}) }
  }
}
