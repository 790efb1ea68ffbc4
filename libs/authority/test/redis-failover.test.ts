import { systemClock, systemRandom } from '@gatehouse/runtime'
import { buildAccountState, capturedLog, eventually, startRedis, type LocalServer } from '@gatehouse/test-kit'
import { type AccountStateCache, connectRedisCache, createCacheInvalidator } from '../src/index.ts'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { setTimeout as pause } from 'node:timers/promises'

const before = buildAccountState()
const changed = buildAccountState({ version: 2, passwordChangedAt: 1 })
const { userId } = before

/** A replica of Redis is promoted while a gateway stays with the process that it replaced. */
describe('the account-state cache after a fail-over of Redis', () => {
  const { log } = capturedLog()
  const connect = ({ url }: LocalServer) => connectRedisCache({ url, random: systemRandom, log })
  const versionAt = (cache: AccountStateCache) =>
    cache.find(userId).then(
      (state) => state?.version,
      () => undefined,
    )
  let opened: AsyncDisposableStack
  let gateway: AccountStateCache
  let identity: AccountStateCache
  let replacedRedis: Redis
  let promoted: LocalServer
  let promotedRedis: Redis

  beforeEach(async () => {
    opened = new AsyncDisposableStack()
    const replaced = opened.use(await startRedis())
    promoted = opened.use(await startRedis())
    gateway = opened.use(await connect(replaced))
    const [primary, replica] = [replaced, promoted].map(({ url }) =>
      opened.adopt(new Redis(url), (redis) => redis.disconnect()),
    ) as [Redis, Redis]
    const [from, to] = [new URL(replaced.url), new URL(promoted.url)]
    await primary.config('SET', 'repl-diskless-sync-delay', '0')
    await replica.call('REPLICAOF', from.hostname, from.port)
    await eventually('replicated', async () => /slave0:.*state=online/.test(await primary.info('replication')))
    await gateway.fill(before, await gateway.lease(userId))
    await eventually('entry replicated', async () => (await replica.keys('*:state:*')).length === 1)
    await primary.call('FAILOVER', 'TO', to.hostname, to.port)
    await eventually('promoted', async () => /role:master/.test(await replica.info('replication')))
    identity = opened.use(await connect(promoted))
    replacedRedis = primary
    promotedRedis = replica
  })
  afterEach(() => opened.disposeAsync())

  it('gives nothing old after the change was told', async () => {
    await identity.put(changed)
    // The harm: the change is written, and the gateway does not see it.
    expect(await versionAt(gateway)).to.equal(1)

    await createCacheInvalidator({ cache: identity, clock: systemClock, log }).invalidate(changed)

    for (let reads = 0; reads < 50; reads += 1) {
      expect(await versionAt(gateway)).to.not.equal(1)
      await pause(5)
    }
  })

  it('gives nothing old where the note of the promoted process was evicted', async () => {
    await promotedRedis.del('gh:process')
    await using later = await connect(promoted)

    expect(later.settlesInMs(userId)).to.be.within(1, 12_500)
  })

  it('is left when it has become a replica, and not believed again', async () => {
    await gateway.lease('43').catch(() => undefined)

    expect(gateway.ready()).to.equal(false)
    expect(await versionAt(gateway)).to.equal(undefined)
    const connections = async () =>
      Number(/total_connections_received:(\d+)/.exec(await replacedRedis.info('stats'))?.[1])
    const until = (await connections()) + 2
    await eventually('it has asked twice again', async () => (await connections()) >= until)
    expect(gateway.ready()).to.equal(false)
  })

  it('is settled at once where Redis was empty, or is the same as before', async () => {
    expect(identity.settlesInMs(userId)).to.be.within(1, 12_500)
    await using empty = await startRedis()
    for (let starts = 0; starts < 2; starts += 1) {
      await using cache = await connect(empty)
      expect(cache.settlesInMs(userId)).to.equal(0)
    }
  })
})
