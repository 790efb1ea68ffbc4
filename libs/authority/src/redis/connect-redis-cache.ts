import { openRedis, readRedisCluster, type RedisAddress } from '@gatehouse/auth'
import type { AccountStateCache } from '../cache.ts'
import { openRedisCache, type RedisCacheOptions } from './redis-cache.ts'
import { openClusterCache } from './redis-cluster-cache.ts'
import { defineScripts } from './redis-scripts.ts'

/** Entries of a process before a fail-over are never read. Contract: 8, several Redis servers; docs/decisions/account-states.md. */
export async function connectRedisCache(options: RedisAddress & RedisCacheOptions): Promise<AccountStateCache> {
  const cluster = await readRedisCluster(options)
  if (cluster) return await openClusterCache(cluster, options)
  // A pipeline would delay the batched reads by one event loop turn.
  const redis = await openRedis(options, { autoPipeliningIgnoredCommands: ['mget'] })
  return await openRedisCache(defineScripts(redis), options)
}
