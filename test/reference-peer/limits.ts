import type { Instance } from './instance.ts'
import { Refused, refused, reply } from './replies.ts'

const minuteMs = 60_000

/** Own limits for each address; all other routes share `everything`. wire: 1, limits; login: specification */
export const addressLimits = {
  everything: { most: 200, windowMs: minuteMs },
  accept: { most: 10, windowMs: minuteMs },
  login: { most: 15, windowMs: 2 * minuteMs },
  register: { most: 10, windowMs: 2 * minuteMs },
  /** Routes that are limited for each peer instead. */
  none: { most: Infinity, windowMs: minuteMs },
} as const

export type AddressLimit = keyof typeof addressLimits

/** For each peer, counted after the check that it is active. wire: 1, limits */
export const peerLimits = {
  relay: { most: 90, windowMs: minuteMs },
  lookups: { most: 60, windowMs: minuteMs },
} as const

export type PeerLimit = keyof typeof peerLimits

export function limitAddress(instance: Instance, name: AddressLimit, ip: string): void {
  const secondsLeft = count(instance, `${name} ${ip}`, addressLimits[name])
  if (secondsLeft === null) return
  const body = { statusCode: 429, error: 'Too Many Requests', message: 'Rate limit exceeded', retryAfter: secondsLeft }
  throw new Refused(reply(429, body, { 'retry-after': String(secondsLeft) }))
}

export function limitPeer(instance: Instance, name: PeerLimit, origin: string): void {
  if (count(instance, `${name} ${origin}`, peerLimits[name]) === null) return
  const refusal = refused(429, 'Too many requests')
  if (name === 'lookups') refusal.reply.headers['retry-after'] = '60'
  throw refusal
}

/** Seconds until the window ends when the request is one too many, else null. */
function count(instance: Instance, key: string, limit: { most: number; windowMs: number }): number | null {
  if (!instance.settings.limits) return null
  const now = instance.now()
  const lastWindow = instance.countedRequests.get(key)
  const window = lastWindow && now - lastWindow.startedAt < limit.windowMs ? lastWindow : { startedAt: now, count: 0 }
  window.count += 1
  instance.countedRequests.set(key, window)
  return window.count > limit.most ? Math.ceil((window.startedAt + limit.windowMs - now) / 1000) : null
}
