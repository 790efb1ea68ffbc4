import { accountState, type AccountState } from '@gatehouse/contracts'
import { withTimeout, type Random } from '@gatehouse/runtime'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { cacheTimes, maxParsedEntries, redisCommandMs, redisStartMs } from '../policy.ts'
import { RedisTimeout, limitCommands, redisOptions } from '../redis.ts'
import { batchReads } from './batch-reads.ts'
import { CacheUnavailable, type AccountStateCache } from './cache.ts'
import { defineScripts } from './redis-scripts.ts'

export type RedisCacheOptions = {
  url: string
  random: Random
  /** Lets tests share a server. */
  prefix?: string
  log: { warn(fields: object, message: string): void }
}

/** Keys carry the run id of Redis: entries from before a fail-over are never read. Contract: 8. */
export async function connectRedisCache(options: RedisCacheOptions): Promise<AccountStateCache> {
  // An embedded process has no Redis.
  const ioredis = await import('ioredis')
  // A pipeline would delay the batched reads by one event loop turn.
  const redis = defineScripts(
    new ioredis.Redis(options.url, { ...redisOptions, autoPipeliningIgnoredCommands: ['mget'] }),
  )
  const limited = limitCommands(redis, redisCommandMs)
  const runId = followRunId(redis, limited, options.log)
  const keysOf = (userId: string): { entry: string; lease: string } => {
    const current = runId.current()
    if (!current) throw new CacheUnavailable('not connected to Redis')
    const prefix = `${options.prefix ?? ''}gh:${current}`
    return { entry: `${prefix}:state:{${userId}}`, lease: `${prefix}:lease:{${userId}}` }
  }
  const run = async <T>(command: () => Promise<T>): Promise<T> => {
    try {
      return await limited(command)
    } catch (cause) {
      if (cause instanceof CacheUnavailable) throw cause
      if (cause instanceof RedisTimeout) runId.forget()
      throw new CacheUnavailable('Redis did not answer', { cause })
    }
  }

  const stateOf = createEntryParser()
  await withTimeout(runId.known, redisStartMs, () => new RedisTimeout('no connection in time')).catch(() => undefined)
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
    ready: () => runId.current() !== undefined,
    [Symbol.asyncDispose]: async () => {
      if (runId.current()) await run(() => redis.quit()).catch(() => undefined)
      redis.disconnect()
    },
  }
}

/** The id is undefined while it is not known. */
function followRunId(redis: Redis, limited: ReturnType<typeof limitCommands>, log: RedisCacheOptions['log']) {
  const known = Promise.withResolvers<void>()
  let runId: string | undefined
  let isReported = false
  async function read(): Promise<void> {
    try {
      runId = /run_id:(\w+)/.exec(await limited(() => redis.info('server')))?.[1]
      if (isReported) log.warn({}, 'Redis connection restored')
      isReported = false
      known.resolve()
    } catch (err) {
      log.warn({ err }, 'Redis run id not readable')
      forget()
      redis.disconnect(true)
    }
  }
  function forget(): void {
    runId = undefined
  }
  redis.on('error', (err: Error) => {
    // The attempts go on twice a second.
    if (!isReported) log.warn({ err }, 'Redis connection failed')
    isReported = true
  })
  redis.on('close', forget)
  redis.on('ready', () => void read())
  return { current: () => runId, known: known.promise, forget }
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
