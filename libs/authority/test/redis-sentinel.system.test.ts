import { openRedis } from '@gatehouse/auth'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { buildAccountState, capturedLog, eventually, startRedis, type LocalServer } from '@gatehouse/test-kit'
import { connectRedisCache, createAccountStates, createCacheInvalidator, judgeToken } from '../src/index.ts'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import { setTimeout as pause } from 'node:timers/promises'

const { userId } = buildAccountState()
const password = 'a:p@ss/word'

/** The password of version n was chosen in second 1,000 n. */
const stateOf = (version: number) => buildAccountState({ version, passwordChangedAt: version * 1_000_000 })

/** Contract: 8, Several Redis servers. */
describe('Redis behind Sentinel', () => {
  const { log } = capturedLog()
  let opened: AsyncDisposableStack
  let primary: LocalServer
  let url: string

  beforeEach(async () => {
    opened = new AsyncDisposableStack()
    const secret = `requirepass "${password}"\nmasterauth "${password}"\nrepl-diskless-sync-delay 0\n`
    primary = opened.use(await startRedis({ config: secret }))
    opened.use(await startRedis({ config: `${secret}replicaof 127.0.0.1 ${primary.port}\n` }))
    const watch = [
      `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
      `sentinel auth-pass main "${password}"`,
      'sentinel down-after-milliseconds main 800',
      'sentinel failover-timeout main 5000',
    ]
    const sentinel = opened.use(await startRedis({ config: `${watch.join('\n')}\n`, isSentinel: true }))
    url = `redis+sentinel://:${encodeURIComponent(password)}@127.0.0.1:1,127.0.0.1:${sentinel.port}/main`
    const asked = opened.adopt(new Redis(sentinel.port), (redis) => redis.disconnect())
    await eventually(
      'Sentinel knows the replica',
      async () => {
        const replicas = (await asked.call('SENTINEL', 'replicas', 'main')) as string[][]
        return replicas.some((one) => one.join().includes('master-link-status,ok'))
      },
      30_000,
    )
  })
  afterEach(() => opened.disposeAsync())

  it('fails over under load without a stale acceptance, and everybody is answered', async () => {
    const connect = async () => opened.use(await connectRedisCache({ url, random: systemRandom, log }))
    const [gateway, identity] = [await connect(), await connect()]
    let [version, answered] = [1, 1]
    const states = createAccountStates({
      cache: gateway,
      load: async () => ({ states: [stateOf(version)], cacheId: identity.id() }),
    })
    const { invalidate } = createCacheInvalidator({ cache: identity, clock: systemClock, log })
    const counts = { judged: 0, stale: 0 }
    const end = new AbortController()
    const judge = async () => {
      while (!end.signal.aborted) {
        const claims = { iat: (answered - 1) * 1_000 }
        counts.judged += 1
        if (judgeToken(claims, await states.find(userId)) !== 'revoked') counts.stale += 1
        await pause(1)
      }
    }
    const change = async () => {
      version += 1
      const own = version
      await invalidate(stateOf(own))
      answered = Math.max(answered, own)
    }
    const judging = Promise.all(Array.from({ length: 8 }, judge))
    for (let changes = 0; changes < 20; changes += 1) await change()
    const replaced = gateway.id()

    await primary.kill()
    const during = change()
    await eventually('promoted', () => gateway.ready() && identity.ready() && gateway.id() !== replaced, 30_000)
    expect(identity.settlesInMs(userId)).to.be.within(1, 12_500)
    await during
    await change()
    expect(identity.id()).to.equal(gateway.id())
    end.abort()
    await judging

    expect(answered).to.equal(version)
    expect(counts.judged).to.be.greaterThan(100)
    expect(counts.stale).to.equal(0)
  })

  it('is the primary that is asked, with the password of the address', async () => {
    const redis = await openRedis({ url })
    redis.on('error', () => undefined)
    opened.defer(() => redis.disconnect())
    await eventually('ready', () => redis.status === 'ready')

    expect(await redis.info('server')).to.include(`tcp_port:${primary.port}`)
  })
})
