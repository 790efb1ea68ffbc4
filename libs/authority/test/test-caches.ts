import { Redis } from 'ioredis'
import { systemRandom } from '@gatehouse/runtime'
import { capturedLog, testRedis } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { type AccountStateCache, connectRedisCache, createMemoryCache } from '../src/index.ts'

/** A cache whose entries a test can let expire. */
export type TestCache = AsyncDisposable & { cache: AccountStateCache; elapse(ms: number): Promise<void> }

export const testCaches: Record<string, () => Promise<TestCache>> = {
  memory: async () => {
    const clock = movableClock()
    const cache = createMemoryCache(clock)
    return { cache, elapse: async (ms) => clock.advance(ms), [Symbol.asyncDispose]: async () => undefined }
  },
  Redis: async () => {
    await using opening = new AsyncDisposableStack()
    const { url, prefix } = opening.use(await testRedis())
    const side = opening.adopt(new Redis(url), (redis) => redis.disconnect())
    const cache = opening.use(await connectRedisCache({ url, prefix, random: systemRandom, log: capturedLog().log }))
    const open = opening.move()
    return { cache, elapse: (ms) => age(side, prefix, ms), [Symbol.asyncDispose]: () => open.disposeAsync() }
  },
}

/** Shortens the life of every key, as waiting would. */
async function age(redis: Redis, prefix: string, ms: number): Promise<void> {
  for (const key of await redis.keys(`${prefix}*`)) {
    const left = await redis.pttl(key)
    await (left <= ms ? redis.del(key) : redis.pexpire(key, left - ms))
  }
}
