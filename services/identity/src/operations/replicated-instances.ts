import type { ProfileBody } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { refuse } from '../errors.ts'

export type ReplicatedInstance = NonNullable<ProfileBody['replicatedInstances']>[number]

/**
 * A list of places as it is stored: origins in their one spelling, each once. Plain http counts where the operator allows
 * private peers. Throws origin_invalid. Contract: 3, PATCH.
 */
export function normalizeReplicatedInstances(
  given: readonly ReplicatedInstance[],
  options: { allowHttp: boolean },
): ReplicatedInstance[] {
  const places = given.map(({ origin, username }) => ({
    origin: normalizeOrigin(origin),
    username: username.trim(),
  }))
  for (const { origin, username } of places) {
    if (username === '' || !isAllowed(origin, options.allowHttp)) throw refuse.origin_invalid()
  }
  if (new Set(places.map((place) => place.origin)).size < places.length) throw refuse.origin_invalid()
  return places as ReplicatedInstance[]
}

/** What is stored, without the places of these origins. */
export function withoutOrigins(user: User, origins: readonly string[]): ReplicatedInstance[] {
  const gone = new Set(origins.map((origin) => normalizeOrigin(origin) ?? origin))
  return storedPlaces(user).filter(({ origin }) => !gone.has(normalizeOrigin(origin) ?? origin))
}

/** The user's places as they are stored. */
export function storedPlaces(user: User): ReplicatedInstance[] {
  return JSON.parse(user.replicatedInstances) as ReplicatedInstance[]
}

/** `https://Chat.example:443/` is `https://chat.example`; undefined for what is more or less than an origin. */
function normalizeOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || url.pathname !== '/' || url.search || url.hash || url.username || url.password) return undefined
  return url.origin
}

function isAllowed(origin: string | undefined, allowHttp: boolean): boolean {
  if (origin === undefined) return false
  return origin.startsWith('https://') || (allowHttp && origin.startsWith('http://'))
}
