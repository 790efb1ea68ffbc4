import { once } from 'node:events'
import { limitCommands, openRedis, type RedisAddress } from '@gatehouse/auth'
import type { RateLimit } from '@gatehouse/contracts'
import { clientNetwork, type Log } from '@gatehouse/service-kit'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import { policy } from '../policy.ts'

export type RateLimitResult = { allowed: boolean; remaining: number; resetSeconds: number }

export type RateLimits = Awaited<ReturnType<typeof openRateLimits>>

/** Counts one request by its key. Undefined while Redis is unavailable. */
type Counter = (key: string) => Promise<RateLimiterRes | undefined>

type Limiters = { limit: RateLimit; local: RateLimiterMemory; countShared: Counter | undefined }

/** With `redis` all gateways share the counts. This process counts too, for when Redis is away. */
export async function openRateLimits({ redis: address, log }: { redis: RedisAddress | null; log: Log }) {
  const redis = address ? await connectRedis(address, log) : undefined
  const limitersByName = new Map<string, Limiters>()

  function limitersOf(limit: RateLimit): Limiters {
    const { name, requests, windowSeconds } = limit
    const known = limitersByName.get(name)
    // Limits of upstreams may change.
    if (known && (known.limit === limit || isSame(known.limit, limit))) return known
    const options = { keyPrefix: `gh:limit:${name}`, points: requests, duration: windowSeconds }
    const countShared = redis && createSharedCounter(redis, options)
    const created = { limit, local: new RateLimiterMemory(options), countShared }
    limitersByName.set(name, created)
    return created
  }

  return {
    /** Of an address, or what the limit is by. Counts refused requests too. Never rejects. Spec: Limits; Contract: 1. */
    consume: async (limit: RateLimit, given: string): Promise<RateLimitResult> => {
      const { local, countShared } = limitersOf(limit)
      const key = limit.by ? given : clientNetwork(given)
      const [here, everywhere] = await Promise.all([count(local, key), countShared?.(key)])
      if (countShared && !everywhere) log.debug({ limit: limit.name }, 'rate limit counted locally: redis unavailable')
      return resultOf(limit, everywhere ?? here)
    },
    [Symbol.asyncDispose]: async (): Promise<void> => redis?.disconnect(),
  }
}

const isSame = (one: RateLimit, other: RateLimit): boolean =>
  one.requests === other.requests && one.windowSeconds === other.windowSeconds

/** A separate connection, so that closing it fails no other commands. */
async function connectRedis(address: RedisAddress, log: Log): Promise<Redis> {
  const redis = await openRedis(address)
  redis.on('error', (err: Error) => {
    log.debug({ err }, 'rate limit redis error')
  })
  await once(redis, 'ready', { signal: AbortSignal.timeout(policy.rateLimitConnectMs) }).catch(() => undefined)
  return redis
}

function createSharedCounter(redis: Redis, options: { keyPrefix: string; points: number; duration: number }): Counter {
  const limiter = new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
  const limited = limitCommands(redis, policy.rateLimitCommandMs)
  return (key) => limited(() => count(limiter, key)).catch(() => undefined)
}

/** A limiter rejects with the state when the limit is exceeded. */
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
    remaining: state.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
  }
}
