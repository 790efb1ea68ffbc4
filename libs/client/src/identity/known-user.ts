import { parseFederatedUsername } from '@gatehouse/contracts/constants'

export type KnownUser = {
  id: string
  username: string
  homeInstance: string | null
  homeUserId: string | null
  isDeleted?: boolean | undefined
}

/** Contract: 2. */
const deletedUsername = 'Deleted User'

/** Keeps the port, unless it is the default. Other text is trimmed and lowered. */
export function normalizeOriginToHost(origin: string): string {
  const text = origin.trim().toLowerCase()
  return URL.parse(text.includes('://') ? text : `https://${text}`)?.host ?? text
}

export function homeHostOf(user: KnownUser): string | null {
  const home = user.homeInstance || parseFederatedUsername(user.username).domain
  return home ? normalizeOriginToHost(home) : null
}

/** All deleted accounts share one name. */
export function isDeletedUser(user: KnownUser): boolean {
  return user.isDeleted || user.username === deletedUsername
}

export function haveSameBaseName(a: KnownUser, b: KnownUser): boolean {
  const { baseName } = parseFederatedUsername(a.username)
  return !isDeletedUser(a) && !isDeletedUser(b) && baseName === parseFederatedUsername(b.username).baseName
}
