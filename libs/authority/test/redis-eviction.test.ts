import { type AccountStateCache, connectRedisCache } from '../src/index.ts'
import { systemRandom } from '@gatehouse/runtime'
import { capturedLog, startRedis, type LocalServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { startRevocationLoad, stateOf } from './revocation-load.ts'

const userIds = ['1', '2', '3', '4']
const [userId] = userIds as [string]
const evicting = ['allkeys-lru', 'allkeys-lfu', 'allkeys-random', 'volatile-lru', 'volatile-lfu']
const policies = [...evicting, 'volatile-random', 'volatile-ttl', 'noeviction']
const spareBytes = 1_000_000

/** What is evicted is asked for, never guessed. */
describe('the account-state cache in a Redis that is full', () => {
  const { log } = capturedLog()
  let opened: AsyncDisposableStack
  let server: LocalServer
  let side: Redis
  let gateway: AccountStateCache
  let identity: AccountStateCache
  let written = 0

  const connect = () => connectRedisCache({ url: server.url, random: systemRandom, log })
  const usedMemory = async () => Number(/used_memory:(\d+)/.exec(await side.info('memory'))?.[1])
  const evictions = async () => Number(/evicted_keys:(\d+)/.exec(await side.info('stats'))?.[1])

  /** Whether the server refused one. The values expire, so that `volatile` evicts them too. */
  async function writeOthers(): Promise<boolean> {
    const writes = Array.from({ length: 50 }, () => {
      written += 1
      return side.set(`other:${written}`, 'x'.repeat(20_000), 'EX', 600).then(
        () => false,
        (error: unknown) => /^OOM/.test((error as Error).message),
      )
    })
    return (await Promise.all(writes)).includes(true)
  }

  beforeEach(async () => {
    opened = new AsyncDisposableStack()
    server = opened.use(await startRedis())
    side = opened.adopt(new Redis(server.url), (redis) => redis.disconnect())
    gateway = opened.use(await connect())
    identity = opened.use(await connect())
  })
  afterEach(() => opened.disposeAsync())

  const limitMemory = async (policy: string) => {
    await side.config('SET', 'maxmemory-policy', policy)
    await side.config('SET', 'maxmemory', (await usedMemory()) + spareBytes)
  }

  for (const policy of policies) {
    it(`accepts nothing revoked with ${policy}`, async () => {
      await limitMemory(policy)
      const load = startRevocationLoad({ gateway, identity, userIds })
      let isFull = false
      while (!isFull || load.counts.judged < 100) {
        const isRefused = await writeOthers()
        isFull = policy === 'noeviction' ? isRefused : (await evictions()) > 0
        await Promise.all(userIds.map(load.change))
      }
      await load[Symbol.asyncDispose]()

      expect(load.counts).to.include({ stale: 0, failed: 0 })
    })
  }

  it('replaces an entry, connects and gives no lease while writes are refused', async () => {
    await gateway.fill(stateOf(userId, 1), await gateway.lease(userId))
    await side.del('gh:process')
    await side.config('SET', 'maxmemory', 1)

    await using later = await connect()
    await identity.put(stateOf(userId, 2))
    const lease = await gateway.lease('9').catch((error: unknown) => error)

    expect(later.ready()).to.equal(true)
    expect((await gateway.find(userId))?.version).to.equal(2)
    expect(lease).to.be.instanceOf(Error)
  })

  it('makes no entry with a lease that was evicted', async () => {
    const lease = await gateway.lease(userId)
    await side.del(...(await side.keys('*:lease:*')))

    await gateway.fill(stateOf(userId, 1), lease)

    expect(await gateway.find(userId)).to.equal(undefined)
  })
})
