import type { Api } from '../api/api.ts'
import { ApiError, listOwnedSpaces } from '../api/errors.ts'
import type { Credentials, IdentityDeletion, IdentityDeletions, User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'
import type { Connections } from './connections.ts'
import { provePassword } from './prove-password.ts'

/** What became of the account; `remotes` has a result for each connected instance either way. */
export type AccountDeletion =
  { deleted: true; remotes: IdentityDeletions } | { deleted: false; remotes: IdentityDeletions; error: Error }

/**
 * Deletes the user's identity on each connected instance (empty password, the username there), then the account at
 * home, whatever became of the others. A mistyped name or password stops it before anything is deleted: that throws.
 * Spec: Client session behaviour, deletion propagation.
 */
export async function deleteAccount(
  deps: { api: Pick<Api, 'users'>; connections: Connections },
  user: User,
  proof: Credentials,
  call: CallOptions = {},
): Promise<AccountDeletion> {
  const { api, connections } = deps
  const connected = connections.getSnapshot().filter(({ token }) => token !== null)
  if (proof.username !== user.username) throw new ApiError(400, 'This is not your username')
  if (connected.length > 0) await provePassword(api, user, proof.password, call)
  const results = await Promise.all(
    connected.map(async ({ origin, username }) => [origin, await deleteThere(connections, origin, username, call)]),
  )
  const remotes = Object.fromEntries(results) as IdentityDeletions
  try {
    await api.users.deleteSelf(proof, call)
    return { deleted: true, remotes }
  } catch (error) {
    // The account stays, so it must not list identities that are gone: the next log-in would make them again.
    const gone = Object.keys(remotes).filter((origin) => remotes[origin]?.success)
    await Promise.allSettled(gone.map((origin) => connections.remove(origin)))
    return { deleted: false, remotes, error: error as Error }
  }
}

async function deleteThere(
  connections: Connections,
  origin: string,
  username: string,
  call: CallOptions,
): Promise<IdentityDeletion> {
  try {
    await connections.apiOf(origin)?.users.deleteSelf({ username, password: '' }, call)
    return { success: true }
  } catch (error) {
    const ownedSpaces = listOwnedSpaces(error)
    return { success: false, error: (error as Error).message, ...(ownedSpaces.length ? { ownedSpaces } : {}) }
  }
}
