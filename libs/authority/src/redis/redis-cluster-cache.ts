import { once } from 'node:events'
import { startPeriodicTask, systemTimer, withTimeout, type Timer } from '@gatehouse/runtime'
import type { Redis } from 'ioredis'
import slotOf from 'cluster-key-slot'
import { RedisTimeout, clusterRenewalMs, redisCommandMs, redisStartMs } from '@gatehouse/auth'
import type { RedisCluster, RedisHost } from '@gatehouse/auth'
import { cacheTimes } from '../policy.ts'
import { CacheUnavailable, type AccountStateCache } from '../cache.ts'
import { openRedisCache, type RedisCacheOptions } from './redis-cache.ts'
import { defineScripts } from './redis-scripts.ts'

const slotCount = 16_384

type Node = { redis: Redis; cache?: AccountStateCache }

/**
 * One cache per primary: a client that follows redirects would hide which process answers. A redirect is CacheUnavailable
 * until the slots are read again. Contract: 8, several Redis servers; docs/decisions/account-states.md.
 */
export async function openClusterCache(cluster: RedisCluster, options: RedisCacheOptions): Promise<AccountStateCache> {
  const { log, timer = systemTimer } = options
  const { caches, cacheAt, hasAllSlots, renew, closeAll } = followPrimaries(cluster, options)
  const cacheOf = (userId: string): AccountStateCache => {
    const cache = cacheAt(slotOf(userId))
    if (!cache) throw new CacheUnavailable('no connection to the primary of this slot')
    return cache
  }

  const renewal = startPeriodicTask({ name: 'Redis cluster slots', everyMs: clusterRenewalMs, log, timer }, renew)
  const onTimeout = () => new RedisTimeout('no Redis cluster in time')
  await withTimeout(renewal.runNow(), redisStartMs, onTimeout, timer).catch(() => undefined)
  return {
    find: async (userId) => await cacheOf(userId).find(userId),
    lease: async (userId) => await cacheOf(userId).lease(userId),
    fill: async (state, lease) => await cacheOf(state.userId).fill(state, lease),
    put: async (state) => await cacheOf(state.userId).put(state),
    // Never undefined: a cache that differs in one primary may fill none.
    id: () =>
      caches()
        .flatMap((cache) => cache.id() ?? [])
        .sort()
        .join(),
    settlesInMs: (userId) => cacheAt(slotOf(userId))?.settlesInMs(userId) ?? cacheTimes.staleMs,
    ready: () => hasAllSlots() && caches().every((cache) => cache.ready()),
    [Symbol.asyncDispose]: async () => {
      await renewal[Symbol.asyncDispose]()
      await closeAll()
    },
  }
}

/** The primaries that the cluster names, each with a connection and a cache. `renew` reads them again, and never rejects. */
function followPrimaries(cluster: RedisCluster, options: RedisCacheOptions) {
  const { log, timer = systemTimer } = options
  const nodes = new Map<string, Node>()
  /** The primary of each slot, as host and port. Empty: none. */
  let primaries: readonly string[] = []
  let isFailing = false

  async function open(address: string): Promise<void> {
    const redis = defineScripts(cluster.open(parseAddress(address)))
    const node: Node = { redis }
    nodes.set(address, node)
    node.cache = await openRedisCache(redis, { ...options, slotTag: () => findTag(primaries, address) })
  }
  async function close(address: string): Promise<void> {
    const node = nodes.get(address)
    nodes.delete(address)
    await node?.cache?.[Symbol.asyncDispose]()
  }
  return {
    renew: async (): Promise<void> => {
      try {
        const connections = [...nodes.values()].map(({ redis }) => redis)
        primaries = await readPrimaries(cluster, connections, timer)
        isFailing = false
      } catch (err) {
        if (!isFailing) log.warn({ err }, 'Redis cluster does not say which primary has which slots')
        isFailing = true
        return
      }
      const wanted = new Set(primaries.filter(Boolean))
      const left = [...nodes.keys()].filter((address) => !wanted.has(address))
      const missing = [...wanted].filter((address) => !nodes.has(address))
      await Promise.all([...left.map(close), ...missing.map(open)])
    },
    caches: () => [...nodes.values()].flatMap(({ cache }) => cache ?? []),
    cacheAt: (slot: number) => nodes.get(primaries[slot] ?? '')?.cache,
    hasAllSlots: () =>
      !isFailing && primaries.length === slotCount && primaries.every((address) => nodes.get(address)?.cache),
    closeAll: async () => void (await Promise.all([...nodes.keys()].map(close))),
  }
}

/** Of the first server that answers. The servers of the address are asked when no other does. */
async function readPrimaries(cluster: RedisCluster, connections: readonly Redis[], timer: Timer): Promise<string[]> {
  for (const redis of connections) {
    const primaries = await askPrimaries(redis, timer).catch(() => undefined)
    if (primaries) return primaries
  }
  const failures: unknown[] = []
  for (const host of cluster.hosts) {
    const redis = cluster.open(host).on('error', () => undefined)
    try {
      await once(redis, 'ready', { signal: AbortSignal.timeout(redisStartMs) })
      return await askPrimaries(redis, timer)
    } catch (error) {
      failures.push(error)
    } finally {
      redis.disconnect()
    }
  }
  throw new Error('no server of the Redis cluster answers', { cause: failures[0] })
}

/** A server that the majority of the primaries has left may not know the new primaries. It is not believed. */
async function askPrimaries(redis: Redis, timer: Timer): Promise<string[]> {
  const [info, ranges] = await withTimeout(
    () => Promise.all([redis.cluster('INFO'), redis.cluster('SLOTS')]),
    redisCommandMs,
    () => new RedisTimeout('no answer in time'),
    timer,
  )
  if (!/cluster_state:ok/.test(info)) throw new Error('the state of the Redis cluster is fail')
  const primaries = Array.from({ length: slotCount }, () => '')
  for (const [first, last, primary] of ranges) {
    const [host, port] = primary ?? []
    // A server may leave its own host to the client.
    primaries.fill(`${host || redis.options.host}:${port}`, first, last + 1)
  }
  return primaries
}

function parseAddress(address: string): RedisHost {
  const end = address.lastIndexOf(':')
  return { host: address.slice(0, end), port: Number(address.slice(end + 1)) }
}

/** A text whose slot this primary has. Throws CacheUnavailable when it has none. */
function findTag(primaries: readonly string[], address: string): string {
  if (!primaries.includes(address)) throw new CacheUnavailable('this primary has no slot')
  for (let tag = 0; ; tag += 1) if (primaries[slotOf(String(tag))] === address) return String(tag)
}
