import { once } from 'node:events'
import { limitCommands, openRedisClient, type RedisAddress } from '@gatehouse/auth'
import type { RateLimit } from '@gatehouse/contracts'
import { clientNetwork, type Log } from '@gatehouse/service-kit'
import type { Cluster, Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { GatewayMetrics } from '../metrics.ts'
import { policy } from '../policy.ts'

export type RateLimits = Awaited<ReturnType<typeof openRateLimits>>
type Options = { redis: RedisAddress | null; log: Log; metrics: Pick<GatewayMetrics, 'limitCountedLocally'> }
type Limiters = { limit: RateLimit; local: RateLimiterMemory; shared: RateLimiterRedis | undefined }

/** With `redis` all gateways share the counts. This process counts too, for when Redis is away. */
export async function openRateLimits({ redis: address, log, metrics }: Options) {
  const redis = address ? await connectRedis(address, log) : undefined
  const limited = redis && limitCommands(redis, policy.rateLimitCommandMs)
  const limitersByName = new Map<string, Limiters>()

  function limitersOf(limit: RateLimit): Limiters {
    const { name, requests, windowSeconds } = limit
    const limiters = limitersByName.get(name)
    // Limits of upstreams may change.
    if (limiters?.limit.requests === requests && limiters.limit.windowSeconds === windowSeconds) return limiters
    const options = { keyPrefix: `gh:limit:${name}`, points: requests, duration: windowSeconds }
    const shared = redis && new RateLimiterRedis({ ...options, storeClient: redis, rejectIfRedisNotReady: true })
    const created = { limit, local: new RateLimiterMemory(options), shared }
    limitersByName.set(name, created)
    return created
  }
  return {
    /** `subject`: an address, or the ID that the limit counts by. Counts refused requests too. Never rejects. Spec: Limits; Contract: 1, rate limits. */
    consume: async (limit: RateLimit, subject: string) => {
      const { local, shared } = limitersOf(limit)
      const key = limit.by ? subject : clientNetwork(subject)
      const countShared = shared && limited?.(() => count(shared, key)).catch(() => undefined)
      const [here, everywhere] = await Promise.all([count(local, key), countShared])
      if (shared && !everywhere) metrics.limitCountedLocally(limit.name)
      const { consumedPoints, remainingPoints: remaining, msBeforeNext } = everywhere ?? here
      const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000))
      return { allowed: consumedPoints <= limit.requests, remaining, resetSeconds }
    },
    [Symbol.asyncDispose]: async (): Promise<void> => redis?.disconnect(),
  }
}

/** A separate connection, so that closing it fails no other commands. */
async function connectRedis(address: RedisAddress, log: Log): Promise<Redis | Cluster> {
  const redis = await openRedisClient(address)
  redis.on('error', (err: Error) => log.debug({ err }, 'rate limit redis error'))
  await once(redis, 'ready', { signal: AbortSignal.timeout(policy.rateLimitConnectMs) }).catch(() => undefined)
  return redis
}

/** A limiter rejects with the state when the limit is exceeded. */
async function count(limiter: RateLimiterAbstract, key: string): Promise<RateLimiterRes> {
  return await limiter.consume(key).catch((exceeded: unknown) => {
    if (exceeded instanceof RateLimiterRes) return exceeded
    throw exceeded
  })
}
