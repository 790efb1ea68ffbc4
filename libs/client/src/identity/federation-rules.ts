import { parseFederatedUsername } from '@gatehouse/contracts/constants'
import { homeHostOf, isDeletedUser, normalizeOriginToHost } from './known-user.ts'
import type { KnownUser } from './known-user.ts'

/**
 * Equal for one user on all instances. `instanceHost` gave the record: the home of a user without one. `<user id at
 * home>@<home>`; without homeUserId the base name, for a deleted user the own id. Design: federation-wire.md,
 * homeUserId and homeInstance.
 */
export function canonicalUserKey(user: KnownUser, instanceHost: string): string {
  const home = homeHostOf(user)
  const here = normalizeOriginToHost(instanceHost)
  if (home && user.homeUserId) return `${user.homeUserId}@${home}`
  if (!home || isDeletedUser(user) || home === here) return `${user.id}@${here}`
  return `~${parseFederatedUsername(user.username).baseName}@${home}`
}

/** `currentHost`: the home of a user without one. Design: federation-wire.md, relay. */
export function isDeliveryFromHome(user: KnownUser, origin: string, currentHost: string): boolean {
  return normalizeOriginToHost(origin) === (homeHostOf(user) ?? normalizeOriginToHost(currentHost))
}

export function isFederationGlobeApplicable(user: KnownUser, currentHost: string): boolean {
  const home = homeHostOf(user)
  return home !== null && home !== normalizeOriginToHost(currentHost) && !isDeletedUser(user)
}
