import { once } from 'node:events'
import { limitCommands, redisOptions } from '@gatehouse/auth'
import type { RateLimit } from '@gatehouse/contracts'
import { clientNetwork, type Log } from '@gatehouse/service-kit'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { policy } from '../policy.ts'

/** The state of a rate limit after one request. */
export type RateLimitResult = { allowed: boolean; requests: number; remaining: number; resetSeconds: number }

export type RateLimits = AsyncDisposable & {
  /** Counts one request by its client address or account, refused ones included. Never rejects. Spec: Limits; Contract: 1. */
  consume(limit: RateLimit, key: string): Promise<RateLimitResult>
}

/** Counts one request by its key. Undefined while Redis is unavailable. */
type Counter = (key: string) => Promise<RateLimiterRes | undefined>
type Limiters = { local: RateLimiterMemory; countShared: Counter | undefined }

/**
 * Counts requests by client network and limit, for all gateways together when `redisUrl` is given. Each request is also
 * counted in this process, so that the limits continue from their present state when Redis becomes unavailable.
 */
export async function openRateLimits({ redisUrl, log }: { redisUrl: string | null; log: Log }): Promise<RateLimits> {
  const redis = redisUrl === null ? undefined : await connectRedis(redisUrl, log)
  const limitersByName = new Map<string, Limiters>()

  function limitersOf({ name, requests, windowSeconds }: RateLimit): Limiters {
    const known = limitersByName.get(name)
    if (known) return known
    const options = { keyPrefix: `gh:limit:${name}`, points: requests, duration: windowSeconds }
    const created = { local: new RateLimiterMemory(options), countShared: redis && createSharedCounter(redis, options) }
    limitersByName.set(name, created)
    return created
  }

  return {
    consume: async (limit, addressOrAccount) => {
      const { local, countShared } = limitersOf(limit)
      const key = limit.by === 'account' ? addressOrAccount : clientNetwork(addressOrAccount)
      const [here, everywhere] = await Promise.all([count(local, key), countShared?.(key)])
      if (countShared && !everywhere) log.debug({ limit: limit.name }, 'rate limit counted locally: redis unavailable')
      return resultOf(limit, everywhere ?? here)
    },
    [Symbol.asyncDispose]: async () => redis?.disconnect(),
  }
}

/** A connection of its own: closing one that hangs must not fail the commands of the account state cache. */
async function connectRedis(url: string, log: Log): Promise<Redis> {
  const redis = new Redis(url, redisOptions)
  redis.on('error', (err: Error) => {
    log.debug({ err }, 'rate limit redis error')
  })
  // Not for long: without Redis the limits hold as well.
  await once(redis, 'ready', { signal: AbortSignal.timeout(policy.rateLimitConnectMs) }).catch(() => undefined)
  return redis
}

function createSharedCounter(redis: Redis, options: { keyPrefix: string; points: number; duration: number }): Counter {
  const limiter = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
  const limited = limitCommands(redis, policy.rateLimitCommandMs)
  return (key) => limited(() => count(limiter, key)).catch(() => undefined)
}

/** The state of a key after one more request. A limiter rejects with it when the limit is exceeded. */
async function count(limiter: RateLimiterAbstract, key: string): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key)
  } catch (exceeded) {
    if (exceeded instanceof RateLimiterRes) return exceeded
    throw exceeded
  }
}

function resultOf({ requests }: RateLimit, state: RateLimiterRes): RateLimitResult {
  return {
    allowed: state.consumedPoints <= requests,
    requests,
    remaining: state.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
  }
}
