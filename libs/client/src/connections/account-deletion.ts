import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/options.ts'
import type { Credentials, IdentityDeletion, IdentityDeletions, OwnedSpace } from '../api/records.ts'
import type { Connections } from './connections.ts'

/** The outcome on the own instance; `remotes` has a result for each listed instance in both cases. */
export type AccountDeletion =
  { deleted: true; remotes: IdentityDeletions } | { deleted: false; remotes: IdentityDeletions; error: Error }

/** `listOwnedSpaces` is that of errors.ts: given, as this module is loaded on its own. */
export type DeletionDeps = {
  api: Pick<Api, 'users'>
  connections: Connections
  verifyPassword: () => Promise<void>
  listOwnedSpaces: (error: unknown) => OwnedSpace[]
}

/**
 * Deletes the user's identity on each connected instance (empty password, the username there), then the account on the
 * own instance, whatever the results. An instance that is listed without a connection, also one whose connection ended
 * meanwhile, has the result `not_connected`: nothing was deleted there. Throws before anything is deleted when the
 * password is wrong. Spec: Client session behaviour, deletion propagation.
 */
export async function deleteAccount(
  deps: DeletionDeps,
  credentials: Credentials,
  options: CallOptions = {},
): Promise<AccountDeletion> {
  const { api, connections } = deps
  const listed = connections.getSnapshot()
  if (listed.some(({ token }) => token !== null)) await deps.verifyPassword()
  const results = await Promise.all(
    listed.map(async ({ origin, username }) => [origin, await deleteOn(deps, origin, username, options)]),
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
  { connections, listOwnedSpaces }: DeletionDeps,
  origin: string,
  username: string,
  options: CallOptions,
): Promise<IdentityDeletion> {
  const api = connections.apiOf(origin)
  if (!api) return { success: false, error: 'not_connected' }
  try {
    await api.users.deleteSelf({ username, password: '' }, options)
    return { success: true }
  } catch (error) {
    const ownedSpaces = listOwnedSpaces(error)
    return { success: false, error: (error as Error).message, ...(ownedSpaces.length ? { ownedSpaces } : {}) }
  }
}
