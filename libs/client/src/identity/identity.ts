import { haveSameBaseName, homeHostOf, normalizeOriginToHost } from './known-user.ts'
import type { KnownUser } from './known-user.ts'

/** The ids of the own user, one for each connected instance: filled from `ready` events, cleared on logout. */
export type SelfIds = { add(id: string): void; has(id: string): boolean; clear(): void }

/** The rules that depend on the current host and user. Spec: Client session behaviour, identity helpers. */
export type Identity = {
  selfIds: SelfIds
  isSelf(user: KnownUser, homeUser: KnownUser | null): boolean
  resolveDisplayIdentity<U extends KnownUser>(user: U, homeUser: U | null): U
}

/**
 * Whether two records are of the same user: equal ids, else by home user id, else by base name and home, where having none
 * is a home as well. Two deleted users are never matched by their name. Spec: Client session behaviour, identity helpers.
 */
export function canonicalUserMatch(a: KnownUser, b: KnownUser): boolean {
  if (a.id === b.id) return true
  if (a.homeUserId && (a.homeUserId === b.homeUserId || a.homeUserId === b.id)) return true
  if (b.homeUserId && b.homeUserId === a.id) return true
  return homeHostOf(a) === homeHostOf(b) && haveSameBaseName(a, b)
}

/** Makes the rules for a client of the instance at `currentHost`, a host with its port. */
export function createIdentity(currentHost: string): Identity {
  const host = normalizeOriginToHost(currentHost)
  const ids = new Set<string>()
  const isSelf = (user: KnownUser, homeUser: KnownUser | null) => {
    if (ids.has(user.id)) return true
    if (!homeUser) return false
    if (user.id === homeUser.id) return true
    return !!user.homeInstance && normalizeOriginToHost(user.homeInstance) === host && haveSameBaseName(user, homeUser)
  }
  return {
    selfIds: { add: (id) => void ids.add(id), has: (id) => ids.has(id), clear: () => ids.clear() },
    isSelf,
    resolveDisplayIdentity: (user, homeUser) => (homeUser && isSelf(user, homeUser) ? homeUser : user),
  }
}
