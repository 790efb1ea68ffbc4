import { setImmediate } from 'node:timers/promises'
import { accountState, type AccountState } from '@gatehouse/contracts'
import { coalesce, entryLimit, systemTimer, withTimeout, type Random, type Timer } from '@gatehouse/runtime'
import { LRUCache } from 'lru-cache'
import { RedisTimeout, limitCommands, redisCommandMs, redisStartMs } from '@gatehouse/auth'
import { cacheTimes, maxParsedEntries } from '../policy.ts'
import { CacheUnavailable, type AccountStateCache } from '../cache.ts'
import type { StateRedis } from './redis-scripts.ts'

/**
 * The cache of account states in one Redis process. In a cluster, redis-cluster-cache.ts opens one for each primary.
 *
 * An account has an entry (its state, with a version) and sometimes a lease (the right to fill the entry). Both carry the
 * run id of the Redis process: in the key, or in a cluster in the value. redis-scripts.ts has the atomic steps.
 *
 * State. `current`: the run id of the primary that we are connected to, and from when on no replaced process gives older
 * entries. It is undefined while unknown. The parser remembers texts and their states: most reads give the same text.
 *
 * Callers. load.ts calls `find`, and at a miss `lease` and `fill`. invalidate.ts calls `put`, then waits for `settlesInMs`.
 * Every call rejects with CacheUnavailable when Redis does not answer in time. Then load.ts asks the source, and
 * invalidate.ts tries again until every older entry has expired.
 *
 * What must never happen:
 * - An older state replaces a newer one. Only a higher version is written, and `put` ends all leases.
 * - An entry of another process is read: of a replica, of a primary before a failover, or from a file. The run id differs.
 * - A change is confirmed while a process that was replaced may still answer. `settledAt` says how long that may be.
 * - A command waits without a limit. A process that hangs, or refuses writes as a replica does, is left.
 *
 * docs/decisions/account-states.md.
 */

export type RedisCacheOptions = {
  random: Random
  /** Lets tests share a server. */
  prefix?: string
  log: { warn(fields: object, message: string): void }
  timer?: Timer
  parsedEntries?: number
  /** Of a process in a cluster: the tag of a key in a slot that it has. */
  slotTag?: () => string
}

/** `redis` may be one of a test. */
export async function openRedisCache(redis: StateRedis, options: RedisCacheOptions): Promise<AccountStateCache> {
  const { random, log, prefix = '', timer = systemTimer, parsedEntries = maxParsedEntries, slotTag } = options
  const processKey = () => `${prefix}gh:process${slotTag ? `:{${slotTag()}}` : ''}`
  const { firstRead, current, run } = followProcess(redis, { processKey, log, timer })
  const keysOf = createKeys({ prefix, runId: () => current()?.runId, inCluster: slotTag !== undefined })
  const stateOf = createEntryParser(parsedEntries)

  // The keys of an `mget` must be in one slot. Else it costs half as much as single reads.
  const readOne = async (userId: string) => {
    const { entry, mark } = keysOf(userId)
    return stateOf(userId, withMark(mark, await run(() => redis.get(entry))))
  }
  // One round trip for the reads of a turn of the event loop.
  const readMany = coalesce(
    async (userIds) => {
      const entries = await run(() => redis.mget(userIds.map((userId) => keysOf(userId).entry)))
      return userIds.map((userId, index) => [userId, stateOf(userId, entries[index] ?? null)] as const)
    },
    { until: () => setImmediate() },
  )
  await withTimeout(firstRead, redisStartMs, () => new RedisTimeout('no connection in time'), timer).catch(
    () => undefined,
  )
  return {
    find: slotTag ? readOne : readMany,
    lease: (userId) =>
      run(() => {
        const { lease, mark } = keysOf(userId)
        return redis.takeLease(lease, `${random.uuid()}${mark}`, cacheTimes.leaseMs)
      }),
    fill: async (state, heldLease) => {
      await run(async () => {
        const { entry, lease, mark } = keysOf(state.userId)
        // The process that gave it may be another.
        if (!heldLease.endsWith(mark)) return
        await redis.fillState(entry, lease, heldLease, formatEntry(state, mark), cacheTimes.entryMs)
      })
    },
    put: async (state) => {
      await run(() => {
        const { entry, lease, mark } = keysOf(state.userId)
        return redis.putState(entry, lease, formatEntry(state, mark))
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

type Keys = { entry: string; lease: string; mark: string }

/**
 * The run id is in the name of a key. In a cluster it is in the value: a slot that leaves a process and comes back brings its
 * keys back, so a write to any process must find them by their name.
 */
function createKeys(options: { prefix: string; runId: () => string | undefined; inCluster: boolean }) {
  const { prefix, runId: currentRunId, inCluster } = options
  return (userId: string): Keys => {
    const runId = currentRunId()
    if (!runId) throw new CacheUnavailable('not connected to Redis')
    const start = `${prefix}gh:${inCluster ? 'cluster' : runId}`
    return {
      entry: `${start}:state:{${userId}}`,
      lease: `${start}:lease:{${userId}}`,
      mark: inCluster ? ` ${runId}` : '',
    }
  }
}

type Current = { runId: string; settledAt: number }
type Following = Required<Pick<RedisCacheOptions, 'log' | 'timer'>> & { processKey: () => string }

/** Follows which primary we are connected to. `current` gives undefined while that is unknown. */
function followProcess(redis: StateRedis, { processKey, log, timer }: Following) {
  const limited = limitCommands(redis, redisCommandMs, timer)
  const firstRead = Promise.withResolvers<void>()
  let current: Current | undefined
  let isReported = false
  async function read(): Promise<void> {
    try {
      const info = await limited(() => redis.info())
      const runId = /run_id:(\w+)/.exec(info)?.[1]
      if (runId === undefined || !/role:master/.test(info)) throw new Error('Redis is a replica')
      const wasPromoted = /second_repl_offset:\d/.test(info) ? 1 : 0
      const usedForMs = await limited(() => redis.usedForMs(processKey(), runId, wasPromoted))
      current = { runId, settledAt: timer.now() + cacheTimes.staleMs - usedForMs }
      if (isReported) log.warn({}, 'Redis connection restored')
      isReported = false
      firstRead.resolve()
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
    firstRead: firstRead.promise,
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

const formatEntry = (state: AccountState, mark: string): string => `${state.version}${mark}|${JSON.stringify(state)}`

/** Null: there is no entry with this mark. */
function withMark(mark: string, entry: string | null): string | null {
  return entry?.startsWith(`${mark}|`, entry.indexOf('|') - mark.length) ? entry : null
}

/** Most reads give the same text again. The states are frozen. */
function createEntryParser(max: number): (userId: string, entry: string | null) => AccountState | undefined {
  const statesByUser = new LRUCache<string, { entry: string; state: AccountState }>(entryLimit(max))
  return (userId, entry) => {
    if (entry === null) return undefined
    const last = statesByUser.get(userId)
    if (last?.entry === entry) return last.state
    const state = parseEntry(entry)
    if (state) statesByUser.set(userId, { entry, state: Object.freeze(state) })
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
