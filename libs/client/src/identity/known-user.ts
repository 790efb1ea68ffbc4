import { parseFederatedUsername } from '@gatehouse/contracts/constants'

/** The fields of a user that the identity rules read. */
export type KnownUser = {
  id: string
  username: string
  homeInstance: string | null
  homeUserId: string | null
  isDeleted?: boolean | undefined
}

/** The username of a tombstone. Contract: 2. */
const deletedUsername = 'Deleted User'

/**
 * The host, in lower case and with its port, of an origin or of a host; a default port is dropped, as `location.host` drops
 * it. Text that is neither is only trimmed and put in lower case.
 */
export function normalizeOriginToHost(origin: string): string {
  const text = origin.trim().toLowerCase()
  return URL.parse(text.includes('://') ? text : `https://${text}`)?.host ?? text
}

/** The host of a user's home, from homeInstance or the username's domain part; null for a user without a home. */
export function homeHostOf(user: KnownUser): string | null {
  const home = user.homeInstance || parseFederatedUsername(user.username).domain
  return home ? normalizeOriginToHost(home) : null
}

/** All deleted accounts have one name, which tells nothing about whose they were. */
export function isDeletedUser(user: KnownUser): boolean {
  return user.isDeleted || user.username === deletedUsername
}

/** Whether the base names are equal; deleted users have none. */
export function haveSameBaseName(a: KnownUser, b: KnownUser): boolean {
  const { baseName } = parseFederatedUsername(a.username)
  return !isDeletedUser(a) && !isDeletedUser(b) && baseName === parseFederatedUsername(b.username).baseName
}
