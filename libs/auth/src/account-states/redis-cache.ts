import { accountState, type AccountState } from '@gatehouse/contracts'
import { withTimeout, type Random } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { cacheTimes, maxParsedEntries, redisCommandMs, redisStartMs } from '../policy.ts'
import { RedisTimeout, limitCommands, redisOptions } from '../redis.ts'
import { batchReads } from './batch-reads.ts'
import { CacheUnavailable, type AccountStateCache } from './cache.ts'
import { defineScripts, type StateRedis } from './redis-scripts.ts'

export type RedisCacheOptions = {
  url: string
  random: Random
  /** Lets tests share a server. */
  prefix?: string
  log: { warn(fields: object, message: string): void }
}

/** Keys carry the run id of Redis: entries from before a fail-over are never read. Contract: 8; docs/decisions/account-states.md. */
export async function connectRedisCache(options: RedisCacheOptions): Promise<AccountStateCache> {
  // An embedded process has no Redis.
  const ioredis = await import('ioredis')
  // A pipeline would delay the batched reads by one event loop turn.
  const redis = defineScripts(
    new ioredis.Redis(options.url, { ...redisOptions, autoPipeliningIgnoredCommands: ['mget'] }),
  )
  const prefix = options.prefix ?? ''
  const { known, current, run } = followProcess(redis, prefix, options)
  const keysOf = (userId: string): { entry: string; lease: string } => {
    const runId = current()?.runId
    if (!runId) throw new CacheUnavailable('not connected to Redis')
    return { entry: `${prefix}gh:${runId}:state:{${userId}}`, lease: `${prefix}gh:${runId}:lease:{${userId}}` }
  }

  const stateOf = createEntryParser()
  await withTimeout(known, redisStartMs, () => new RedisTimeout('no connection in time')).catch(() => undefined)
  return {
    find: batchReads(async (userIds) => {
      const entries = await run(() => redis.mget(userIds.map((userId) => keysOf(userId).entry)))
      return entries.map((entry, index) => stateOf(userIds[index] ?? '', entry))
    }),
    lease: (userId) => run(() => redis.takeLease(keysOf(userId).lease, options.random.uuid(), cacheTimes.leaseMs)),
    fill: async (state, lease) => {
      await run(() => {
        const keys = keysOf(state.userId)
        return redis.fillState(keys.entry, keys.lease, lease, state.version, formatEntry(state), cacheTimes.entryMs)
      })
    },
    put: async (state) => {
      await run(() => {
        const keys = keysOf(state.userId)
        return redis.putState(keys.entry, keys.lease, state.version, formatEntry(state))
      })
    },
    id: () => current()?.runId,
    settlesInMs: () => Math.max(0, (current()?.settledAt ?? 0) - performance.now()),
    ready: () => current() !== undefined,
    [Symbol.asyncDispose]: async () => {
      if (current()) await run(() => redis.quit()).catch(() => undefined)
      redis.disconnect()
    },
  }
}

type Current = { runId: string; settledAt: number }

/** The process that is asked, as long as it is no replica. Undefined while it is not known. */
function followProcess(redis: StateRedis, prefix: string, { log }: Pick<RedisCacheOptions, 'log'>) {
  const limited = limitCommands(redis, redisCommandMs)
  const known = Promise.withResolvers<void>()
  let current: Current | undefined
  let isReported = false
  async function read(): Promise<void> {
    try {
      const info = await limited(() => redis.info())
      const runId = /run_id:(\w+)/.exec(info)?.[1]
      if (runId === undefined || !/role:master/.test(info)) throw new Error('Redis is a replica')
      const usedForMs = await limited(() => redis.usedForMs(`${prefix}gh:process`, runId))
      current = { runId, settledAt: performance.now() + cacheTimes.staleMs - usedForMs }
      if (isReported) log.warn({}, 'Redis connection restored')
      isReported = false
      known.resolve()
    } catch (err) {
      report(err)
      leave()
    }
  }
  function report(err: unknown): void {
    // The attempts go on twice a second.
    if (!isReported) log.warn({ err }, 'Redis connection failed')
    isReported = true
  }
  function leave(): void {
    current = undefined
    redis.disconnect(true)
  }
  redis.on('error', report)
  redis.on('close', () => (current = undefined))
  redis.on('ready', () => void read())
  return {
    known: known.promise,
    current: () => current,
    /** A process that hangs, or has become a replica, is left. */
    run: async <T>(command: () => Promise<T>): Promise<T> => {
      try {
        return await limited(command)
      } catch (cause) {
        if (cause instanceof CacheUnavailable) throw cause
        if (cause instanceof RedisTimeout || /READONLY/.test(String(cause))) leave()
        throw new CacheUnavailable('Redis did not answer', { cause })
      }
    },
  }
}

const formatEntry = (state: AccountState): string => `${state.version}|${JSON.stringify(state)}`

/** Most reads give the same text again. The states are frozen. */
function createEntryParser(): (userId: string, entry: string | null) => AccountState | undefined {
  const known = new LRUCache<string, { entry: string; state: AccountState }>({ max: maxParsedEntries })
  return (userId, entry) => {
    if (entry === null) return undefined
    const last = known.get(userId)
    if (last?.entry === entry) return last.state
    const state = parseEntry(entry)
    if (state) known.set(userId, { entry, state: Object.freeze(state) })
    return state
  }
}

/** An entry of another release may be no account state. It counts as a miss. */
function parseEntry(entry: string): AccountState | undefined {
  const parsed = accountState.safeParse(parseJson(entry.slice(entry.indexOf('|') + 1)))
  return parsed.success ? parsed.data : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
