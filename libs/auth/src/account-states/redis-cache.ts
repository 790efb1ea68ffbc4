import { accountState, type AccountState } from '@gatehouse/contracts'
import { entryLimit, systemTimer, withTimeout, type Random, type Timer } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { cacheTimes, maxParsedEntries, redisCommandMs, redisStartMs } from '../policy.ts'
import { RedisTimeout, limitCommands, openRedis, type RedisAddress } from '../redis.ts'
import { CacheUnavailable, type AccountStateCache } from './account-states.ts'
import { defineScripts, type StateRedis } from './redis-scripts.ts'

type Options = {
  random: Random
  /** Lets tests share a server. */
  prefix?: string
  log: { warn(fields: object, message: string): void }
  timer?: Timer
  parsedEntries?: number
}

/** Keys carry the run id of Redis: entries from before a fail-over are never read. Contract: 8; docs/decisions/account-states.md. */
export async function connectRedisCache(options: RedisAddress & Options): Promise<AccountStateCache> {
  // A pipeline would delay the batched reads by one event loop turn.
  const redis = await openRedis(options, { autoPipeliningIgnoredCommands: ['mget'] })
  return await openRedisCache(defineScripts(redis), options)
}

/** `redis` may be one of a test. */
export async function openRedisCache(
  redis: StateRedis,
  { random, log, prefix = '', timer = systemTimer, parsedEntries = maxParsedEntries }: Options,
): Promise<AccountStateCache> {
  const { known, current, run } = followProcess(redis, { prefix, log, timer })
  const keysOf = (userId: string): { entry: string; lease: string } => {
    const runId = current()?.runId
    if (!runId) throw new CacheUnavailable('not connected to Redis')
    return { entry: `${prefix}gh:${runId}:state:{${userId}}`, lease: `${prefix}gh:${runId}:lease:{${userId}}` }
  }

  const stateOf = createEntryParser(parsedEntries)
  await withTimeout(known, redisStartMs, () => new RedisTimeout('no connection in time'), timer).catch(() => undefined)
  return {
    find: batchReads(async (userIds) => {
      const entries = await run(() => redis.mget(userIds.map((userId) => keysOf(userId).entry)))
      return entries.map((entry, index) => stateOf(userIds[index] ?? '', entry))
    }),
    lease: (userId) => run(() => redis.takeLease(keysOf(userId).lease, random.uuid(), cacheTimes.leaseMs)),
    fill: async (state, held) => {
      await run(() => {
        const { entry, lease } = keysOf(state.userId)
        return redis.fillState(entry, lease, held, state.version, formatEntry(state), cacheTimes.entryMs)
      })
    },
    put: async (state) => {
      await run(() => {
        const { entry, lease } = keysOf(state.userId)
        return redis.putState(entry, lease, state.version, formatEntry(state))
      })
    },
    id: () => current()?.runId,
    settlesInMs: () => Math.max(0, (current()?.settledAt ?? 0) - timer.now()),
    ready: () => current() !== undefined,
    [Symbol.asyncDispose]: async () => {
      if (current()) await run(() => redis.quit()).catch(() => undefined)
      redis.disconnect()
    },
  }
}

type Current = { runId: string; settledAt: number }

/** The process that is asked, as long as it is no replica. Undefined while it is not known. */
function followProcess(redis: StateRedis, { prefix, log, timer }: Required<Pick<Options, 'prefix' | 'log' | 'timer'>>) {
  const limited = limitCommands(redis, redisCommandMs, timer)
  const known = Promise.withResolvers<void>()
  let current: Current | undefined
  let isReported = false
  async function read(): Promise<void> {
    try {
      const info = await limited(() => redis.info())
      const runId = /run_id:(\w+)/.exec(info)?.[1]
      if (runId === undefined || !/role:master/.test(info)) throw new Error('Redis is a replica')
      const usedForMs = await limited(() => redis.usedForMs(`${prefix}gh:process`, runId))
      current = { runId, settledAt: timer.now() + cacheTimes.staleMs - usedForMs }
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
function createEntryParser(max: number): (userId: string, entry: string | null) => AccountState | undefined {
  const known = new LRUCache<string, { entry: string; state: AccountState }>(entryLimit(max))
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
  try {
    return accountState.parse(JSON.parse(entry.slice(entry.indexOf('|') + 1)))
  } catch {
    return undefined
  }
}

type Waiter<T> = { key: string; resolve(value: T): void; reject(error: unknown): void }

/** Joins the reads of one event loop turn to save round trips. `readMany` keeps the order of its keys. */
function batchReads<T>(readMany: (keys: string[]) => Promise<T[]>): (key: string) => Promise<T> {
  let waiters: Waiter<T>[] = []

  async function read(): Promise<void> {
    const batch = waiters
    waiters = []
    try {
      const results = await readMany(batch.map(({ key }) => key))
      for (const [index, result] of results.entries()) batch[index]?.resolve(result)
    } catch (error) {
      for (const waiter of batch) waiter.reject(error)
    }
  }
  return (key) =>
    new Promise((resolve, reject) => {
      if (waiters.length === 0) setImmediate(() => void read())
      waiters.push({ key, resolve, reject })
    })
}
