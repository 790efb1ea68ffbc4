import type { Api, CallOptions } from '../api/api.ts'
import { listOwnedSpaces } from '../api/errors.ts'
import type { Deletion, IdentityDeletion, IdentityDeletions, OwnConfirmation } from '../api/records.ts'
import type { Connections } from './connections.ts'

export type AccountDeletion =
  { deleted: true; remotes: IdentityDeletions } | { deleted: false; remotes: IdentityDeletions; error: Error }

const notConnected = 'not_connected'

/**
 * Deletes remote identities first, then the account whatever the results. `not_connected`: nothing was deleted there. A
 * wrong password, or ticket, throws before any deletion. Spec: Client session behaviour, deletion propagation.
 */
export async function deleteAccount(
  deps: {
    api: Pick<Api, 'call'>
    connections: Connections
    verifyPassword: (proof: OwnConfirmation, options?: CallOptions) => Promise<void>
  },
  deletion: Deletion,
  options?: CallOptions,
): Promise<AccountDeletion> {
  const { api, connections, verifyPassword } = deps
  const deleteOn = async (origin: string, username: string): Promise<IdentityDeletion> => {
    try {
      const there = connections.apiOf(origin)
      if (!there) return { success: false, error: notConnected }
      await there.call('deleteSelf', { body: { username, password: '' }, ...options })
      return { success: true }
    } catch (error) {
      const ownedSpaces = listOwnedSpaces(error)
      return { success: false, error: (error as Error).message, ...(ownedSpaces.length ? { ownedSpaces } : {}) }
    }
  }
  const listed = connections.getSnapshot()
  if (listed.some(({ token }) => token !== null)) await verifyPassword(deletion, options)
  const deletions = listed.map(async ({ origin, username }) => [origin, await deleteOn(origin, username)] as const)
  const remotes: IdentityDeletions = Object.fromEntries(await Promise.all(deletions))
  const isOrdered = (result: IdentityDeletion) =>
    !result.success && !result.ownedSpaces && result.error !== notConnected
  const failed = Object.entries(remotes).filter(([, result]) => isOrdered(result))
  // The home goes on asking, also when the account is gone.
  const body = { origins: failed.map(([origin]) => origin), mode: 'full' as const, durable: true }
  if (failed.length > 0) {
    const ordered = await api.call('deleteFederationIdentity', { body, ...options }).catch(() => null)
    for (const [origin, result] of Object.entries(ordered?.results ?? {}))
      if (result.success || result.order) remotes[origin] = result
  }
  try {
    await api.call('deleteSelf', { body: deletion, ...options })
    return { deleted: true, remotes }
  } catch (error) {
    // A listed identity would be registered again at the next log-in.
    const gone = Object.keys(remotes).filter((origin) => remotes[origin]?.success)
    await Promise.allSettled(gone.map((origin) => connections.remove(origin)))
    return { deleted: false, remotes, error: error as Error }
  }
}
