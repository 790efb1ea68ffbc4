import type { AccountState } from '@gatehouse/contracts'
import type { Random } from '@gatehouse/runtime'
import { Redis } from 'ioredis'
import { gatherReads } from './gather-reads.ts'
import { defineScripts } from './redis-scripts.ts'
import { StoreUnavailable, cacheTimes, type StateStore } from './store.ts'

export type RedisStoreOptions = {
  url: string
  random: Random
  /** Stands before every key; tests keep apart by it. */
  prefix?: string
  log: { warn(facts: object, message: string): void }
}

/**
 * The cache that all replicas share. Keys carry the run id of the Redis process: what a process before a crash or a
 * fail-over left behind, perhaps from an old snapshot, is never read again. Waits up to 5 s for the first connection;
 * rejects when there is none. Later it reconnects for ever, and answers StoreUnavailable meanwhile.
 */
export async function connectRedisStore(options: RedisStoreOptions): Promise<StateStore> {
  const redis = defineScripts(
    new Redis(options.url, {
      enableAutoPipelining: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: 500,
      connectTimeout: 2_000,
      disconnectTimeout: 200,
      retryStrategy: (attempt) => Math.min(50 * attempt, 500),
      lazyConnect: true,
    }),
  )
  const incarnation = followIncarnation(redis, options.log)
  const keysOf = (userId: string): { entry: string; lease: string } => {
    const runId = incarnation.current()
    if (!runId) throw new StoreUnavailable('not connected to Redis')
    const prefix = `${options.prefix ?? ''}gh:${runId}`
    return { entry: `${prefix}:state:{${userId}}`, lease: `${prefix}:lease:{${userId}}` }
  }
  const ask = askOrLeave(incarnation.leave)
  const read = gatherReads(async (userIds) => {
    const entries = await ask(async () => await redis.mget(userIds.map((userId) => keysOf(userId).entry)))
    return entries.map(parseEntry)
  })

  await connectFirst(redis, options.url)
  await incarnation.learn()
  return {
    find: read,
    lease: (userId) => ask(() => redis.takeLease(keysOf(userId).lease, options.random.uuid(), cacheTimes.leaseMs)),
    fill: (state, lease) =>
      ask(async () => {
        const keys = keysOf(state.userId)
        await redis.fillState(keys.entry, keys.lease, lease, state.version, format(state), cacheTimes.entryMs)
      }),
    put: (state) =>
      ask(async () => {
        const keys = keysOf(state.userId)
        await redis.putState(keys.entry, keys.lease, state.version, format(state))
      }),
    ready: () => incarnation.current() !== undefined,
    [Symbol.asyncDispose]: async () => {
      if (incarnation.current()) await redis.quit().catch(() => undefined)
      redis.disconnect()
    },
  }
}

/** Knows which Redis process the connection leads to; undefined while it leads to none. */
function followIncarnation(redis: Redis, log: RedisStoreOptions['log']) {
  let runId: string | undefined
  async function learn(): Promise<void> {
    try {
      runId = /run_id:(\w+)/.exec(await redis.info('server'))?.[1]
    } catch (error) {
      log.warn({ reason: String(error) }, 'redis did not tell its run id')
      leave()
    }
  }
  function leave(): void {
    runId = undefined
    redis.disconnect(true)
  }
  redis.on('error', (error: Error) => log.warn({ reason: error.message }, 'redis'))
  redis.on('close', () => (runId = undefined))
  redis.on('ready', () => void learn())
  return { current: () => runId, learn, leave }
}

/** A server that hangs is left, so that the next question fails at once instead of waiting its time out. */
function askOrLeave(leave: () => void) {
  return async <T>(command: () => Promise<T>): Promise<T> => {
    try {
      return await command()
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause
      if (cause instanceof Error && cause.message === 'Command timed out') leave()
      throw new StoreUnavailable('Redis did not answer', { cause })
    }
  }
}

async function connectFirst(redis: Redis, url: string): Promise<void> {
  const deadline = AbortSignal.timeout(5_000)
  for (;;) {
    try {
      await redis.connect()
      return
    } catch (cause) {
      if (!deadline.aborted && redis.status !== 'ready') {
        await new Promise((resolve) => setTimeout(resolve, 100))
        if (redis.status === 'end' || redis.status === 'wait' || redis.status === 'close') continue
      }
      redis.disconnect()
      const place = URL.canParse(url) ? new URL(url).host : 'an address that is not a URL'
      throw new StoreUnavailable(`cannot reach Redis at ${place}: check REDIS_URL and that it runs`, { cause })
    }
  }
}

const format = (state: AccountState): string => `${state.version}|${JSON.stringify(state)}`

function parseEntry(entry: string | null): AccountState | undefined {
  if (entry === null) return undefined
  return JSON.parse(entry.slice(entry.indexOf('|') + 1)) as AccountState
}
