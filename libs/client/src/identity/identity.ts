import { haveSameBaseName, homeHostOf, normalizeOriginToHost } from './known-user.ts'
import type { KnownUser } from './known-user.ts'

/** One for each connected instance, from `ready` events. */
export type SelfIds = { add(id: string): void; has(id: string): boolean; clear(): void }

/** Spec: Client session behaviour, identity helpers. */
export type Identity = {
  selfIds: SelfIds
  isSelf(user: KnownUser, homeUser: KnownUser | null): boolean
  resolveDisplayIdentity<U extends KnownUser>(user: U, homeUser: U | null): U
}

/** Deleted users never match by name. Spec: Client session behaviour, identity helpers. */
export function canonicalUserMatch(a: KnownUser, b: KnownUser): boolean {
  if (a.id === b.id) return true
  if (a.homeUserId && (a.homeUserId === b.homeUserId || a.homeUserId === b.id)) return true
  if (b.homeUserId && b.homeUserId === a.id) return true
  return homeHostOf(a) === homeHostOf(b) && haveSameBaseName(a, b)
}

/** `currentHost` includes the port. */
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
