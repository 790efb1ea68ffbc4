import { baseUsername, isLocalUsername, limits, normalizeUsername } from '@gatehouse/contracts'

type RemoteUser = { homeUserId: string; homeInstance: string; username?: string | null | undefined }

/** Made from the id where the name does not fit our form. Contract: 7, stubs. */
export function stubBaseName({ username, homeUserId }: RemoteUser): string {
  const base = localForm(baseUsername(normalizeUsername(username ?? '')))
  return isLocalUsername(base) ? base : localForm(`user_${homeUserId.toLowerCase()}`)
}

/** Attempt 1 ends in `_1`. Null when no name fits beside this host. */
export function stubUsername(base: string, { host, attempt }: { host: string; attempt: number }): string | null {
  const suffix = attempt === 0 ? '' : `_${attempt}`
  const room = Math.min(limits.localUsernameMax, limits.federatedUsernameMax - host.length - 1) - suffix.length
  if (room < limits.localUsernameMin) return null
  return `${base.slice(0, room)}${suffix}@${host}`
}

function localForm(text: string): string {
  return text.replace(/[^a-z0-9_]/g, '_').slice(0, limits.localUsernameMax)
}
