import { backoffMs, withTimeout } from '@gatehouse/runtime'
import type { Redis, RedisOptions } from 'ioredis'
import { redisReconnectBackoff } from './policy.ts'

export class RedisTimeout extends Error {
  override readonly name = 'RedisTimeout'
}

/** Fails commands at once while there is no connection. Commands need a time limit of `limitCommands`. */
export const redisOptions = {
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  disconnectTimeout: 200,
  retryStrategy: (attempt: number) => backoffMs(attempt - 1, redisReconnectBackoff),
} satisfies RedisOptions

/** A server that hangs is disconnected, so the next command fails at once. Rejects with RedisTimeout. */
export function limitCommands(redis: Redis, timeoutMs: number): <T>(command: () => Promise<T>) => Promise<T> {
  return async (command) => {
    try {
      return await withTimeout(command, timeoutMs, () => new RedisTimeout(`no answer of Redis within ${timeoutMs} ms`))
    } catch (error) {
      if (error instanceof RedisTimeout) redis.disconnect(true)
      throw error
    }
  }
}
