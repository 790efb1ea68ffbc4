import { backoffMs, withTimeout } from '@gatehouse/runtime'
import type { Redis, RedisOptions } from 'ioredis'
import { redisReconnectBackoff } from './policy.ts'

/** A command that Redis did not answer in time. */
export class RedisTimeout extends Error {
  override readonly name = 'RedisTimeout'
}

/**
 * A connection that reconnects for ever and, while there is none, fails each command at once instead of queueing it: for
 * caches and counters, which have something to fall back on. Commands need a time limit of `limitCommands`.
 */
export const redisOptions = {
  enableAutoPipelining: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 2_000,
  disconnectTimeout: 200,
  retryStrategy: (attempt: number) => backoffMs(attempt - 1, redisReconnectBackoff),
} satisfies RedisOptions

/**
 * Runs commands that may take `timeoutMs`. A server that hangs is disconnected, so that the next command fails at once
 * instead of waiting as long again. Rejects with RedisTimeout or the error of the command.
 */
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
