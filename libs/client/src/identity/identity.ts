import { createSelfIds } from './self-ids.ts'
import type { SelfIds } from './self-ids.ts'

/** What the identity rules look at in a user. */
export type KnownUser = { id: string; username: string; homeInstance: string | null; homeUserId: string | null }

/** The rules that need to know who and where we are. Spec: Client session behaviour, identity helpers. */
export type Identity = {
  /** The ids that are the own user on any connected instance. */
  selfIds: SelfIds
  isSelf(user: KnownUser, homeUser: KnownUser | null): boolean
  resolveDisplayIdentity<U extends KnownUser>(user: U, homeUser: U | null): U
}

/** Splits `<base>@<domain>` at the first `@`; the domain is null without one. */
export function parseFederatedUsername(username: string): { base: string; domain: string | null } {
  const at = username.indexOf('@')
  if (at < 0) return { base: username, domain: null }
  return { base: username.slice(0, at), domain: username.slice(at + 1) }
}

/** A host as hosts are compared: lower case, without its port. Contract: 7. */
export function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, '')
}

/**
 * Whether two records are the same person: equal ids, else by home user id, else by base name and home. Two records
 * without any home are not matched by name: they may come from different instances.
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
  const selfIds = createSelfIds()
  const isSelf = (user: KnownUser, homeUser: KnownUser | null) => {
    if (selfIds.has(user.id)) return true
    if (!homeUser) return false
    if (user.id === homeUser.id) return true
    return user.homeInstance !== null && normalizeHost(user.homeInstance) === host && haveSameBase(user, homeUser)
  }
  return {
    selfIds,
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
