// The entry `@gatehouse/client/identity`: usable without a client.
import { parseFederatedUsername, parseUrl } from '@gatehouse/contracts/constants'

export { parseFederatedUsername }

export type KnownUser = {
  id: string
  username: string
  homeInstance: string | null
  homeUserId: string | null
  isDeleted?: boolean | undefined
}

/** The name of every tombstone. Contract: 2, tombstones. */
const deletedUsername = 'Deleted User'

/** Keeps the port, unless it is the default: one server can run two instances. Other text is trimmed and lowered. */
export function normalizeOriginToHost(origin: string): string {
  const text = origin.trim().toLowerCase()
  return parseUrl(text.includes('://') ? text : `https://${text}`)?.host ?? text
}

function homeHostOf(user: KnownUser): string | null {
  const home = user.homeInstance || parseFederatedUsername(user.username).domain
  return home ? normalizeOriginToHost(home) : null
}

/** All deleted accounts share one name. */
function isDeletedUser(user: KnownUser): boolean {
  return user.isDeleted || user.username === deletedUsername
}

function haveSameBaseName(a: KnownUser, b: KnownUser): boolean {
  const { baseName } = parseFederatedUsername(a.username)
  return !isDeletedUser(a) && !isDeletedUser(b) && baseName === parseFederatedUsername(b.username).baseName
}

/** One for each connected instance, from `ready` events. */
export type SelfIds = { add(id: string): void; has(id: string): boolean; clear(): void }

export type Identity = ReturnType<typeof createIdentity>

/**
 * Deleted users never match by name: all share one name, so lists would merge the messages of strangers. A user without a
 * home does not match one whose home is the current host, which this function does not know; `isSelf` does.
 * Spec: Client session behaviour, identity helpers.
 */
export function canonicalUserMatch(a: KnownUser, b: KnownUser): boolean {
  if (a.id === b.id) return true
  if (a.homeUserId && (a.homeUserId === b.homeUserId || a.homeUserId === b.id)) return true
  if (b.homeUserId && b.homeUserId === a.id) return true
  return homeHostOf(a) === homeHostOf(b) && haveSameBaseName(a, b)
}

/** `currentHost` includes the port. Spec: Client session behaviour, identity helpers. */
export function createIdentity(currentHost: string) {
  const host = normalizeOriginToHost(currentHost)
  const ids = new Set<string>()
  const isSelf = (user: KnownUser, homeUser: KnownUser | null): boolean => {
    if (ids.has(user.id)) return true
    if (!homeUser) return false
    if (user.id === homeUser.id) return true
    return !!user.homeInstance && normalizeOriginToHost(user.homeInstance) === host && haveSameBaseName(user, homeUser)
  }
  return {
    selfIds: { add: (id) => void ids.add(id), has: (id) => ids.has(id), clear: () => ids.clear() } as SelfIds,
    isSelf,
    resolveDisplayIdentity: <U extends KnownUser>(user: U, homeUser: U | null): U =>
      homeUser && isSelf(user, homeUser) ? homeUser : user,
  }
}

/**
 * Equal for one user on all instances. `instanceHost` gave the record: the home of a user without one. `<user id at
 * home>@<home>`; without homeUserId the base name, for a deleted user the own id. Design: protocol.md,
 * homeUserId and homeInstance.
 */
export function canonicalUserKey(user: KnownUser, instanceHost: string): string {
  const home = homeHostOf(user)
  const here = normalizeOriginToHost(instanceHost)
  if (home && user.homeUserId) return `${user.homeUserId}@${home}`
  if (!home || isDeletedUser(user) || home === here) return `${user.id}@${here}`
  return `~${parseFederatedUsername(user.username).baseName}@${home}`
}

/** `currentHost`: the home of a user without one. Design: protocol.md, relay. */
export function isDeliveryFromHome(user: KnownUser, origin: string, currentHost: string): boolean {
  return normalizeOriginToHost(origin) === (homeHostOf(user) ?? normalizeOriginToHost(currentHost))
}

export function isFederationGlobeApplicable(user: KnownUser, currentHost: string): boolean {
  const home = homeHostOf(user)
  return home !== null && home !== normalizeOriginToHost(currentHost) && !isDeletedUser(user)
}
