import { normalizeHost, parseFederatedUsername } from '@gatehouse/contracts/constants'

/** The fields of a user that the identity rules read. */
export type KnownUser = { id: string; username: string; homeInstance: string | null; homeUserId: string | null }

/** The ids of the own user, one for each connected instance: filled from `ready` events, cleared on logout. */
export type SelfIds = { add(id: string): void; has(id: string): boolean; clear(): void }

/** The rules that depend on the current host and user. Spec: Client session behaviour, identity helpers. */
export type Identity = {
  selfIds: SelfIds
  isSelf(user: KnownUser, homeUser: KnownUser | null): boolean
  resolveDisplayIdentity<U extends KnownUser>(user: U, homeUser: U | null): U
}

/**
 * Whether two records are of the same user: equal ids, else by home user id, else by base name and home. Two records
 * without any home are not matched by name: they may come from different instances. Spec: Client session behaviour,
 * identity helpers.
 */
export function canonicalUserMatch(a: KnownUser, b: KnownUser): boolean {
  if (a.id === b.id) return true
  if (a.homeUserId && (a.homeUserId === b.homeUserId || a.homeUserId === b.id)) return true
  if (b.homeUserId && b.homeUserId === a.id) return true
  const home = homeOf(a)
  return home !== null && home === homeOf(b) && haveSameBase(a, b)
}

/** Makes the rules for a client of the instance at `currentHost`. */
export function createIdentity(currentHost: string): Identity {
  const host = normalizeHost(currentHost)
  const ids = new Set<string>()
  const isSelf = (user: KnownUser, homeUser: KnownUser | null) => {
    if (ids.has(user.id)) return true
    if (!homeUser) return false
    if (user.id === homeUser.id) return true
    return user.homeInstance !== null && normalizeHost(user.homeInstance) === host && haveSameBase(user, homeUser)
  }
  return {
    selfIds: { add: (id) => void ids.add(id), has: (id) => ids.has(id), clear: () => ids.clear() },
    isSelf,
    resolveDisplayIdentity: (user, homeUser) => (homeUser && isSelf(user, homeUser) ? homeUser : user),
  }
}

function haveSameBase(a: KnownUser, b: KnownUser): boolean {
  return parseFederatedUsername(a.username).base === parseFederatedUsername(b.username).base
}

function homeOf(user: KnownUser): string | null {
  const home = user.homeInstance || parseFederatedUsername(user.username).domain
  return home ? normalizeHost(home) : null
}
