import { Redis } from 'ioredis'
import { randomName } from './random-name.ts'
import { runRedis } from './run-servers.ts'

/** The Redis of the run, with a random key prefix; dispose deletes the keys that start with it. */
export async function testRedis(): Promise<AsyncDisposable & { url: string; prefix: string }> {
  const url = await runRedis()
  const prefix = `${randomName()}:`
  return { url, prefix, [Symbol.asyncDispose]: () => removeKeys(url, prefix) }
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url)
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1_000 })) {
      if (keys.length > 0) await redis.unlink(keys)
    }
  } finally {
    redis.disconnect()
  }
}
