import { openRedisClient } from '@gatehouse/auth'
import { type AccountStateCache, connectRedisCache } from '../src/index.ts'
import { systemRandom } from '@gatehouse/runtime'
import { capturedLog, eventually, startRedisCluster, type RedisCluster } from '@gatehouse/test-kit'
import slotOf from 'cluster-key-slot'
import { expect } from 'chai'
import { startRevocationLoad, stateOf } from './revocation-load.ts'

const password = 'a:p@ss/word'
const secret = `requirepass "${password}"\nmasterauth "${password}"\n`

/** Contract: 8, Several Redis servers. */
describe('Redis as a cluster', () => {
  const { log } = capturedLog()
  let resources: AsyncDisposableStack
  let cluster: RedisCluster
  let gateway: AccountStateCache
  let identity: AccountStateCache
  let lastUserId = 0

  /** Of an account that no test has used, in the part of this primary. */
  function newUserId(part: number, isWanted: (slot: number) => boolean = () => true): string {
    for (;;) {
      lastUserId += 1
      const slot = slotOf(String(lastUserId))
      if (Math.floor((slot * 3) / 16_384) === part && isWanted(slot)) return String(lastUserId)
    }
  }
  const newUserIds = () => [0, 1, 2].flatMap((part) => [newUserId(part), newUserId(part)])
  const entryOf = (userId: string) => `gh:cluster:state:{${userId}}`
  const store = async (userId: string) => await gateway.fill(stateOf(userId, 1), await gateway.lease(userId))
  /** No answer counts as no entry. */
  const versionOf = (userId: string) =>
    gateway.find(userId).then(
      (state) => state?.version,
      () => undefined,
    )

  before(async () => {
    resources = new AsyncDisposableStack()
    cluster = resources.use(await startRedisCluster({ config: secret, password }))
    const connect = async () => resources.use(await connectRedisCache({ url: cluster.url, random: systemRandom, log }))
    gateway = await connect()
    identity = await connect()
    await eventually('connected', () => gateway.ready() && identity.ready())
  })
  after(() => resources.disposeAsync())

  it('keeps each account at the primary of its slot, and both caches have the same primaries', async () => {
    const userIds = newUserIds()
    await Promise.all(userIds.map(store))

    for (const [index, userId] of userIds.entries()) {
      expect(await cluster.primaries[Math.floor(index / 2)]!.redis.exists(entryOf(userId))).to.equal(1)
    }
    expect(await Promise.all(userIds.map(versionOf))).to.deep.equal(userIds.map(() => 1))
    await Promise.all(userIds.map((userId) => identity.put(stateOf(userId, 2))))
    expect(await Promise.all(userIds.map(versionOf))).to.deep.equal(userIds.map(() => 2))
    expect(identity.id()).to.equal(gateway.id())
    expect(identity.id()!.split(',')).to.have.length(3)
  })

  it('waits for nothing after a start, where no primary has replaced another', async () => {
    await using later = await connectRedisCache({ url: cluster.url, random: systemRandom, log })

    for (const part of [0, 1, 2]) expect(later.settlesInMs(newUserId(part))).to.equal(0)
  })

  it('takes an address whose first server is away, and says so when all are', async () => {
    const url = cluster.url.replace('@', '@127.0.0.1:1,')
    await using found = await connectRedisCache({ url, random: systemRandom, log })
    const { log: ownLog, lines } = capturedLog()
    await using lost = await connectRedisCache({
      url: 'redis+cluster://127.0.0.1:1',
      random: systemRandom,
      log: ownLog,
    })

    await eventually('ready', () => found.ready())
    expect(lost.ready()).to.equal(false)
    expect(lines).to.have.length(1)
  })

  it('gives no state from before a change that was made while the slot was elsewhere', async () => {
    const changed = newUserId(0)
    const slot = slotOf(changed)
    // Its entry survives the way there and back, so only the change can have removed the other.
    const control = newUserId(0, (other) => other === slot)
    const [home, elsewhere] = [cluster.primaries[0]!, cluster.primaries[1]!]
    for (const userId of [changed, control]) {
      await store(userId)
      await home.redis.pexpire(entryOf(userId), 600_000)
    }

    await cluster.moveSlot(slot, home, elsewhere)
    await eventually('nothing is read of the other process', async () => (await gateway.find(changed)) === undefined)
    await eventually('the change is written', () =>
      identity.put(stateOf(changed, 2)).then(
        () => true,
        () => false,
      ),
    )
    await cluster.moveSlot(slot, elsewhere, home)

    await eventually('the control is back', async () => (await versionOf(control)) === 1)
    expect(await versionOf(changed)).to.equal(undefined)
  })

  it('accepts nothing revoked while slots move under load', async () => {
    const userIds = newUserIds()
    const load = startRevocationLoad({ gateway, identity, userIds })
    const [home, elsewhere] = [cluster.primaries[0]!, cluster.primaries[1]!]
    for (const userId of userIds.slice(0, 2)) {
      await cluster.moveSlot(slotOf(userId), home, elsewhere)
      await Promise.all(userIds.map(load.change))
      await cluster.moveSlot(slotOf(userId), elsewhere, home)
      await Promise.all(userIds.map(load.change))
    }
    await load[Symbol.asyncDispose]()

    expect(load.counts).to.include({ stale: 0, failed: 0 })
    expect(load.counts.judged).to.be.greaterThan(100)
  }).timeout(120_000)

  it('accepts nothing revoked when FLUSHALL comes under load', async () => {
    const userIds = newUserIds()
    const load = startRevocationLoad({ gateway, identity, userIds })
    for (let round = 0; round < 10 || load.counts.judged <= 100; round += 1) {
      await Promise.all([...userIds.map(load.change), ...cluster.primaries.map(({ redis }) => redis.flushall())])
      await Promise.all(userIds.map(load.change))
    }
    await load[Symbol.asyncDispose]()

    expect(load.counts).to.include({ stale: 0, failed: 0 })
    expect(load.counts.judged).to.be.greaterThan(100)
  })

  it('counts limits at all primaries while one hangs', async () => {
    const client = resources.adopt(await openRedisClient(cluster), (redis) => redis.disconnect())
    client.on('error', () => undefined)
    await eventually('connected', () => client.status === 'ready')
    const [hanging, working] = [newUserId(0), newUserId(1)]
    expect(await Promise.all([client.incr(hanging), client.incr(working)])).to.deep.equal([1, 1])

    cluster.primaries[0]!.server.pause()
    const refused = await client.incr(hanging).catch((error: unknown) => error)
    const counted = await client.incr(working)
    cluster.primaries[0]!.server.resume()

    expect(refused).to.be.instanceOf(Error)
    expect(counted).to.equal(2)
    await eventually('counted again', () => client.incr(hanging).catch(() => undefined))
    await eventually('ready', () => gateway.ready() && identity.ready())
  })

  /** The last test: the cluster has lost a server. */
  it('fails over under load without a stale acceptance, and only changes of that part wait', async () => {
    const userIds = newUserIds()
    const [ofLost, ofOther] = [userIds[0]!, userIds[2]!]
    const load = startRevocationLoad({ gateway, identity, userIds })
    for (let changes = 0; changes < 10; changes += 1) await Promise.all(userIds.map(load.change))
    const replaced = gateway.id()

    await cluster.primaries[0]!.server.kill()
    const during = load.change(ofLost)
    await eventually('noticed', () => !gateway.ready())
    for (let changes = 0; changes < 5; changes += 1) await load.change(ofOther)
    const isReplaced = (cache: AccountStateCache) => cache.ready() && cache.id() !== replaced
    await eventually('promoted', () => isReplaced(gateway) && isReplaced(identity), 30_000)
    expect(identity.settlesInMs(ofLost)).to.be.within(1, 12_500)
    expect(identity.settlesInMs(ofOther)).to.equal(0)
    await during
    await Promise.all(userIds.map(load.change))
    await load[Symbol.asyncDispose]()

    expect(identity.id()).to.equal(gateway.id())
    expect(load.counts).to.include({ stale: 0, failed: 0 })
    expect(load.counts.judged).to.be.greaterThan(100)
    await store(newUserId(0))
  }).timeout(120_000)
})
