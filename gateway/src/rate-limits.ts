import { once } from 'node:events'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, type RateLimiterAbstract } from 'rate-limiter-flexible'
import type { RateLimit } from '@gatehouse/contracts'
import type { Log } from '@gatehouse/service-kit'
import { limitKey } from './client-address.ts'

/** What is left of a limit after one request. */
export type Allowance = { allowed: boolean; requests: number; remaining: number; resetSeconds: number }

export type RateLimits = AsyncDisposable & {
  /** Counts one request, also when it is refused. Never rejects. Spec: Limits; Contract: 1. */
  take(limit: RateLimit, address: string): Promise<Allowance>
}

const firstConnectionMs = 2_000

type Counter = { here: RateLimiterMemory; everywhere: RateLimiterRedis | undefined }

/**
 * Counts requests by address and limit, with all replicas together when `redisUrl` is given. Each request is counted in
 * this process too, so that the limits hold on from where they are when Redis goes away.
 */
export async function openRateLimits(options: { redisUrl: string | null; log: Log }): Promise<RateLimits> {
  const redis = options.redisUrl === null ? undefined : await connect(options.redisUrl, options.log)
  const counters = new Map<string, Counter>()

  function counterOf({ name, requests, windowSeconds }: RateLimit): Counter {
    const known = counters.get(name)
    if (known) return known
    const rule = { keyPrefix: `gh:limit:${name}`, points: requests, duration: windowSeconds }
    const made: Counter = {
      here: new RateLimiterMemory(rule),
      everywhere: redis && new RateLimiterRedis({ ...rule, storeClient: redis, rejectIfRedisNotReady: true }),
    }
    counters.set(name, made)
    return made
  }

  return {
    take: async (limit, address) => {
      const { here, everywhere } = counterOf(limit)
      const key = limitKey(address)
      const [counted, shared] = await Promise.all([count(here, key), everywhere && count(everywhere, key)])
      if (everywhere && !shared) options.log.debug({ limit: limit.name }, 'Redis away: limit counted here')
      return allowance(limit, (shared ?? counted)!)
    },
    [Symbol.asyncDispose]: async () => redis?.disconnect(),
  }
}

/** Waits for the first connection, but not long: without Redis the limits hold as well. */
async function connect(url: string, log: Log): Promise<Redis> {
  const redis = new Redis(url, {
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 300,
    connectTimeout: 2_000,
    disconnectTimeout: 200,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
  })
  redis.on('error', (error: Error) => {
    log.debug({ reason: error.message }, 'redis for limits')
  })
  await once(redis, 'ready', { signal: AbortSignal.timeout(firstConnectionMs) }).catch(() => undefined)
  return redis
}

/** The state of a key after counting one; undefined when the counter did not answer. */
async function count(limiter: RateLimiterAbstract, key: string): Promise<RateLimiterRes | undefined> {
  try {
    return await limiter.consume(key)
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused
    leaveWhenHung(limiter, refused)
    return undefined
  }
}

/** Else each request would wait the time of a Redis that hangs. */
function leaveWhenHung(limiter: RateLimiterAbstract, error: unknown): void {
  if (!(limiter instanceof RateLimiterRedis) || !(error instanceof Error)) return
  if (error.message === 'Command timed out') (limiter as unknown as { client: Redis }).client.disconnect(true)
}

function allowance({ requests }: RateLimit, state: RateLimiterRes): Allowance {
  return {
    allowed: state.consumedPoints <= requests,
    requests,
    remaining: state.remainingPoints,
    resetSeconds: Math.max(1, Math.ceil(state.msBeforeNext / 1000)),
  }
}
