import { expect } from 'chai'
import { systemRandom } from '@gatehouse/runtime'
import {
  buildAccountState as buildState,
  capturedLog,
  eventually,
  startRedis,
  type LocalServer,
} from '@gatehouse/test-kit'
import { type AccountStateCache, CacheUnavailable, connectRedisCache } from '../src/index.ts'

const { userId } = buildState()

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('the account-state cache while Redis fails', () => {
  let redis: LocalServer
  let cache: AccountStateCache
  beforeEach(async () => {
    redis = await startRedis()
    cache = await connectRedisCache({ url: redis.url, random: systemRandom, log: capturedLog().log })
  })
  afterEach(async () => {
    await cache[Symbol.asyncDispose]()
    await redis[Symbol.asyncDispose]()
  })

  it('rejects when Redis was killed, and works again after a restart, empty', async () => {
    await cache.fill(buildState(), await cache.lease(userId))
    await redis.kill()
    expect(await failureOf(cache.find(userId))).to.be.instanceOf(CacheUnavailable)
    await eventually('noticed', () => !cache.ready())

    await redis.start()
    await eventually('reconnected', () => cache.ready())

    expect(await cache.find(userId)).to.equal(undefined)
  })

  it('ignores a lease of an earlier Redis process', async () => {
    const lease = await cache.lease(userId)
    await redis.kill()
    await eventually('noticed', () => !cache.ready())
    await redis.start()
    await eventually('reconnected', () => cache.ready())
    await cache.fill(buildState(), lease)

    expect(await cache.find(userId)).to.equal(undefined)
  })

  it('rejects within its time limit when Redis hangs, and works again afterwards', async () => {
    await cache.fill(buildState(), await cache.lease(userId))
    redis.pause()
    expect(await failureOf(cache.find(userId))).to.be.instanceOf(CacheUnavailable)
    expect(await failureOf(cache.put(buildState({ version: 2 })))).to.be.instanceOf(CacheUnavailable)

    redis.resume()
    await eventually('reconnected', () => cache.ready())

    await cache.put(buildState({ version: 3 }))
    expect(await cache.find(userId)).to.satisfy(
      (found: unknown) => !found || (found as { version: number }).version === 3,
    )
  })

  it('makes no entry of a put that waited in the buffers of a Redis that hung', async () => {
    redis.pause()
    await failureOf(cache.put(buildState({ version: 1 })))
    redis.resume()
    await eventually('reconnected', () => cache.ready())

    expect(await cache.find(userId)).to.equal(undefined)
  })

  it('starts without Redis, says so once, and works when it comes', async () => {
    await redis.stop()
    const { log, lines } = capturedLog()
    await using early = await connectRedisCache({ url: redis.url, random: systemRandom, log })
    expect(await failureOf(early.find(userId))).to.be.instanceOf(CacheUnavailable)
    expect(early.ready()).to.equal(false)

    await redis.start()
    await eventually('connected', () => early.ready())

    await early.fill(buildState(), await early.lease(userId))
    expect(await early.find(userId)).to.deep.equal(buildState())
    expect(lines.filter(({ msg }) => msg === 'Redis connection failed')).to.have.length(1)
  })
})
