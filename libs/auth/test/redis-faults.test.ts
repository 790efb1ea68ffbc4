import { expect } from 'chai'
import { systemRandom } from '@gatehouse/runtime'
import { capturedLog, eventually, privateRedis, type PrivateServer } from '@gatehouse/test-kit'
import { StoreUnavailable, type StateStore } from '../src/account-states/store.ts'
import { connectRedisStore } from '../src/account-states/redis-store.ts'
import { buildState } from './places.ts'

const { userId } = buildState()

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('the account-state cache while Redis fails', () => {
  let redis: PrivateServer
  let store: StateStore
  beforeEach(async () => {
    redis = await privateRedis()
    store = await connectRedisStore({ url: redis.url, random: systemRandom, log: capturedLog().log })
  })
  afterEach(async () => {
    await store[Symbol.asyncDispose]()
    await redis[Symbol.asyncDispose]()
  })

  it('says so when Redis was killed, and works again after a restart, empty', async () => {
    await store.fill(buildState(), await store.lease(userId))
    await redis.kill()
    expect(await failureOf(store.find(userId))).to.be.instanceOf(StoreUnavailable)
    await eventually('noticed', () => !store.ready())

    await redis.start()
    await eventually('reconnected', () => store.ready())

    expect(await store.find(userId)).to.equal(undefined)
  })

  it('takes no lease of a Redis that has gone for one of its successor', async () => {
    const lease = await store.lease(userId)
    await redis.kill()
    await redis.start()
    await eventually('reconnected', () => store.ready())
    await store.fill(buildState(), lease)

    expect(await store.find(userId)).to.equal(undefined)
  })

  it('says so within its time when Redis hangs, and works again afterwards', async () => {
    await store.fill(buildState(), await store.lease(userId))
    redis.pause()
    expect(await failureOf(store.find(userId))).to.be.instanceOf(StoreUnavailable)
    expect(await failureOf(store.put(buildState({ version: 2 })))).to.be.instanceOf(StoreUnavailable)

    redis.resume()
    await eventually('reconnected', () => store.ready())

    await store.put(buildState({ version: 3 }))
    expect(await store.find(userId)).to.satisfy(
      (found: unknown) => !found || (found as { version: number }).version === 3,
    )
  })

  it('makes no entry of a word that lay in the buffers of a Redis that hung', async () => {
    redis.pause()
    await failureOf(store.put(buildState({ version: 1 })))
    redis.resume()
    await eventually('reconnected', () => store.ready())

    expect(await store.find(userId)).to.equal(undefined)
  })

  it('does not start without Redis, and tells which variable to look at', async () => {
    await redis.stop()

    const failure = await failureOf(connectRedisStore({ url: redis.url, random: systemRandom, log: capturedLog().log }))

    expect(failure).to.be.instanceOf(StoreUnavailable)
    expect(String(failure)).to.include('REDIS_URL')
  })
})
