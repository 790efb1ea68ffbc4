import { Redis } from 'ioredis'
import type { AccountState } from '@gatehouse/contracts'
import { movableClock, systemRandom } from '@gatehouse/runtime'
import { capturedLog, testRedis } from '@gatehouse/test-kit'
import { connectRedisStore } from '../src/account-states/redis-store.ts'
import { createMemoryStore } from '../src/account-states/memory-store.ts'
import { type StateStore } from '../src/account-states/store.ts'

/** A store whose time a test can let pass. */
export type Place = AsyncDisposable & { store: StateStore; elapse(ms: number): Promise<void> }

export const places: Record<string, () => Promise<Place>> = {
  memory: async () => {
    const clock = movableClock()
    const store = createMemoryStore(clock)
    return { store, elapse: async (ms) => clock.advance(ms), [Symbol.asyncDispose]: async () => undefined }
  },
  Redis: async () => {
    await using opening = new AsyncDisposableStack()
    const { url, prefix } = opening.use(await testRedis())
    const side = opening.adopt(new Redis(url), (redis) => redis.disconnect())
    const store = opening.use(await connectRedisStore({ url, prefix, random: systemRandom, log: capturedLog().log }))
    const open = opening.move()
    return { store, elapse: (ms) => age(side, prefix, ms), [Symbol.asyncDispose]: () => open.disposeAsync() }
  },
}

/** Takes time off the life of every key, which is what waiting would do. */
async function age(redis: Redis, prefix: string, ms: number): Promise<void> {
  for (const key of await redis.keys(`${prefix}*`)) {
    const left = await redis.pttl(key)
    await (left <= ms ? redis.del(key) : redis.pexpire(key, left - ms))
  }
}

export function buildState(overrides: Partial<AccountState> = {}): AccountState {
  return {
    userId: '42',
    version: 1,
    username: 'ada',
    isDeleted: false,
    isAdmin: false,
    passwordChangedAt: null,
    sessionsEndedAt: null,
    ...overrides,
  }
}
