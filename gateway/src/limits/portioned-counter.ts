import { LRUCache } from 'lru-cache'
import { RateLimiterRes } from 'rate-limiter-flexible'
import { policy } from '../policy.ts'

/** Counts one request by its key. Undefined while Redis is unavailable. */
export type Counter = (key: string) => Promise<RateLimiterRes | undefined>

/** Takes so many points of a key at once, and gives what is counted of it then. */
type TakePoints = (key: string, points: number) => Promise<RateLimiterRes | undefined>

/** Points that this process has taken and not yet used. */
type Portion = { state: RateLimiterRes; left: number; until: number }

/**
 * The points of a limit that one process takes at once: 1 for a low limit, at most a thirtieth of a high one. It divides
 * the limit, so that a portion lies within the limit or beyond it as a whole.
 */
export function portionOf(requests: number): number {
  let portion = Math.min(Math.floor(requests / policy.limitPortions) || 1, policy.limitPortionMax)
  while (requests % portion !== 0) portion -= 1
  return portion
}

/**
 * Takes the points of a key in portions, so that most requests need no command of Redis. The limit is never exceeded; each
 * further process may hold back less than a portion of it until the window ends.
 */
export function createPortionedCounter(requests: number, takePoints: TakePoints): Counter {
  const size = portionOf(requests)
  // Without portions nobody waits for the command of another request.
  if (size === 1) return (key) => takePoints(key, 1)
  const portions = new LRUCache<string, Portion>({ max: policy.limitPortionKeys })
  const underWay = new Map<string, Promise<Portion | undefined>>()

  async function take(key: string): Promise<Portion | undefined> {
    const state = await takePoints(key, size)
    if (!state) return undefined
    const portion = { state, left: size, until: performance.now() + Math.max(1, state.msBeforeNext) }
    portions.set(key, portion)
    return portion
  }

  /** One command for all requests of the key that wait for it. */
  function takeOnce(key: string): Promise<Portion | undefined> {
    const known = underWay.get(key)
    if (known) return known
    const taking = take(key).finally(() => underWay.delete(key))
    underWay.set(key, taking)
    return taking
  }

  return async (key) => {
    let portion = portions.get(key)
    while (!portion || portion.left === 0 || portion.until <= performance.now()) {
      portion = await takeOnce(key)
      if (!portion) return undefined
    }
    portion.left -= 1
    const consumed = portion.state.consumedPoints - portion.left
    const resetMs = Math.max(0, portion.until - performance.now())
    return new RateLimiterRes(Math.max(0, requests - consumed), resetMs, consumed)
  }
}
