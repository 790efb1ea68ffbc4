import { parseFederatedUsername } from '@gatehouse/contracts/constants'
import { homeHostOf, isDeletedUser, normalizeOriginToHost } from './known-user.ts'
import type { KnownUser } from './known-user.ts'

/**
 * A key that is equal for the records of one user on all instances, for lists without duplicates. `instanceHost`: the host
 * of the instance that gave the record, which is the home of a user without one. It is `<user id at home>@<home>`; a record
 * without homeUserId has its base name instead and a deleted one its own id, so that neither falls together with another
 * user. Design: federation-wire.md, homeUserId and homeInstance.
 */
export function canonicalUserKey(user: KnownUser, instanceHost: string): string {
  const home = homeHostOf(user)
  const here = normalizeOriginToHost(instanceHost)
  if (home && user.homeUserId) return `${user.homeUserId}@${home}`
  if (!home || isDeletedUser(user) || home === here) return `${user.id}@${here}`
  return `~${parseFederatedUsername(user.username).baseName}@${home}`
}

/**
 * Whether the instance at `origin`, which delivered something about a user, is the user's home: only that one says what the
 * user's profile is. `currentHost` is the home of a user without one. Design: federation-wire.md, relay.
 */
export function isDeliveryFromHome(user: KnownUser, origin: string, currentHost: string): boolean {
  return normalizeOriginToHost(origin) === (homeHostOf(user) ?? normalizeOriginToHost(currentHost))
}

/** Whether a user is to be marked as one of another instance (the globe): not deleted, and at home elsewhere. */
export function isFederationGlobeApplicable(user: KnownUser, currentHost: string): boolean {
  const home = homeHostOf(user)
  return home !== null && home !== normalizeOriginToHost(currentHost) && !isDeletedUser(user)
}
