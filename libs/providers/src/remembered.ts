import type { Clock } from '@gatehouse/runtime'
import { policy } from './policy.ts'

type Memory<T> = { value?: T; readAt: number; askedAt: number; failure?: unknown; asking?: Promise<T> | undefined }

/**
 * What a provider says of itself, read at most once a minute, whatever comes of it. An older value stands while no newer
 * one can be had. Throws what `ask` threw last.
 */
export function remember<T>(clock: Clock, ask: () => Promise<T>) {
  const memory: Memory<T> = { readAt: -Infinity, askedAt: -Infinity }

  async function askOnce(): Promise<T> {
    memory.askedAt = clock.now()
    try {
      const value = await ask()
      Object.assign(memory, { value, readAt: clock.now() })
      return value
    } catch (failure) {
      memory.failure = failure
      if (memory.value !== undefined) return memory.value
      throw failure
    } finally {
      memory.asking = undefined
    }
  }
  /** `isStale`: the value of before does not do. */
  return async ({ isStale = false } = {}): Promise<T> => {
    const now = clock.now()
    const isKept = memory.value !== undefined && !isStale && now - memory.readAt < policy.providerMetadataMs
    if (memory.value !== undefined && isKept) return memory.value
    if (memory.asking) return await memory.asking
    if (now - memory.askedAt >= policy.providerRetryMs) return await (memory.asking = askOnce())
    if (memory.value !== undefined) return memory.value
    throw memory.failure
  }
}
