import { resolveReplicatedUser } from '@gatehouse/contracts'
import { eventually, insertUser } from '@gatehouse/test-kit'
import { movableClock } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { policy } from '../src/policy.ts'
import { buildPeer, sendAsPeer } from './fake-peer.ts'
import { startTestInstance, type TestAnswer, type TestInstance } from './harness.ts'

const minute = 60_000

describe('limits of peers and users', () => {
  async function startReplicas() {
    const clock = movableClock()
    const one = await startTestInstance('a', { autoAccept: false, resources: { clock } })
    const other = await startTestInstance('a', { databaseUrl: one.databaseUrl, resources: { clock } })
    return {
      one,
      other,
      clock,
      [Symbol.asyncDispose]: async () => {
        await other[Symbol.asyncDispose]()
        await one[Symbol.asyncDispose]()
      },
    }
  }

  it('are counted for all replicas together, by peer, and end with their window', async () => {
    await using replicas = await startReplicas()
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const another = await buildPeer(replicas.one, { host: 'away.example' })
    const lookUp = async (replica: 'one' | 'other', { origin, secret } = peer) => {
      const message = ['POST', '/api/federation/users/by-home-id', { homeUserId: 'x' }] as [string, string, object]
      return (await sendAsPeer(replicas[replica], message, { origin, secret })).status
    }

    for (let count = 0; count < 30; count += 1) {
      expect([await lookUp('one'), await lookUp('other')]).to.deep.equal([200, 200])
    }
    const beyond = [await lookUp('one'), await lookUp('other'), await lookUp('one', another)]
    replicas.clock.advance(minute)
    const later = await lookUp('other')

    expect(beyond).to.deep.equal([429, 429, 200])
    expect(later).to.equal(200)
  })

  it('peer/ensure: three in a quarter of an hour for each user, whichever replica is asked', async () => {
    await using replicas = await startReplicas()
    const user = await insertUser(replicas.one.deps)
    const ensure = (replica: 'one' | 'other') =>
      replicas[replica].call('POST', '/api/federation/peer/ensure', {
        as: { id: user.id },
        body: { remoteOrigin: 'https://b.example' },
      })

    const answers = [await ensure('one'), await ensure('other'), await ensure('one'), await ensure('other')]
    replicas.clock.advance(15 * minute - 1)
    const before = await ensure('one')
    replicas.clock.advance(1)
    const after = await ensure('one')

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 429])
    expect(answers[3]?.headers.get('retry-after')).to.equal('900')
    expect([before.status, after.status]).to.deep.equal([429, 200])
  })

  it('peer/ensure: what can start no handshake does not count', async () => {
    await using replicas = await startReplicas()
    const user = await insertUser(replicas.one.deps)
    const states = ['active', 'unreachable', 'needs_attention', 'rejected', 'revoked', 'awaiting_approval'] as const
    for (const status of states) await buildPeer(replicas.one, { host: `${status.replace('_', '-')}.example`, status })
    await buildPeer(replicas.one, { host: 'pending.example', status: 'pending' })
    const ensure = async (host: string, reason?: string) => {
      const body = { remoteOrigin: `https://${host}.example`, ...(reason && { reason }) }
      return await replicas.one.call('POST', '/api/federation/peer/ensure', { as: { id: user.id }, body })
    }
    const hosts = [...states, ...states].map((status) => status.replace('_', '-'))

    const settled = await Promise.all(hosts.map((host) => ensure(host)))
    const others = [await ensure('active', 'friend_add'), await ensure('unknown', 'instance_connect')]
    const pending = [await ensure('pending'), await ensure('pending'), await ensure('pending')]
    const after = await ensure('active')

    expect(settled.map(({ status }) => status)).to.deep.equal(hosts.map(() => 200))
    const told = ['active', 'active', 'rejected', 'rejected', 'rejected', 'awaiting_approval']
    expect(settled.map(({ body }) => body.peeringStatus)).to.deep.equal([...told, ...told])
    expect(others.map(({ status }) => status)).to.deep.equal([400, 200])
    expect(others[0]?.body).to.deep.include({
      code: 'validation_failed',
      details: { field: 'reason', reason: 'invalid' },
    })
    expect(pending.map(({ status }) => status)).to.deep.equal([200, 200, 429])
    expect(after.body).to.include({ peeringStatus: 'active' })
  })

  /** Contract: 7, Consent. */
  it('peer/ensure: no request for this instance itself, and a hundred that wait in all', async () => {
    await using replicas = await startReplicas()
    const { one } = replicas
    const ensure = async (remoteOrigin: string) => {
      const { id } = await insertUser(one.deps)
      const { body, status } = await one.call('POST', '/api/federation/peer/ensure', {
        as: { id },
        body: { remoteOrigin },
      })
      return [status, body.code ?? body.peeringStatus]
    }
    await one.deps.orm.em.fork().execute(
      `insert into approval_requests (id, source_origin, direction, status)
       select n, 'https://i' || n || '.example', 'outbound', 'pending' from generate_series(1, ?) n`,
      [policy.outboundRequestsMax - 1],
    )

    const answers = [await ensure(one.origin), await ensure('https://last.example'), await ensure('https://b.example')]

    expect(answers).to.deep.equal([
      [400, 'origin_is_own'],
      [200, 'admin_required'],
      [409, 'too_many_peering_requests'],
    ])
    expect(await ensure('https://i1.example')).to.deep.equal([200, 'admin_required'])
  })

  it('are told with every answer, like those of the gateway', async () => {
    await using replicas = await startReplicas()
    const user = await insertUser(replicas.one.deps)
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const ensure = () =>
      replicas.one.call('POST', '/api/federation/peer/ensure', {
        as: { id: user.id },
        body: { remoteOrigin: 'https://b.example' },
      })
    const ask = (path: string, body: object) => sendAsPeer(replicas.one, ['POST', path, body], peer)
    const told = ({ headers }: TestAnswer) =>
      ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`))

    const first = await ensure()
    replicas.clock.advance(minute + 1)
    const others = [await ensure(), await ensure(), await ensure()]
    const unknown = await ask('/api/federation/users/lookup', { username: 'nobody' })
    const malformed = await ask('/api/federation/relay', { events: 'none' })

    expect([first, ...others].map(told)).to.deep.equal([
      ['3', '2', '900'],
      ['3', '1', '840'],
      ['3', '0', '840'],
      ['3', '0', '840'],
    ])
    expect(others[2]?.status).to.equal(429)
    expect([unknown.status, told(unknown)]).to.deep.equal([404, ['60', '59', '60']])
    expect([malformed.status, told(malformed)]).to.deep.equal([400, ['90', '89', '60']])
  })

  /** Contract: 7, Stubs. */
  it('stubs: sixty a minute for each peer', async () => {
    await using replicas = await startReplicas()
    await using _identity = await replicas.one.deps.bus.respond(resolveReplicatedUser, async () => ({
      id: '7',
      created: true,
    }))
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const another = await buildPeer(replicas.one, { host: 'away.example' })
    const resolve = async (homeUserId: string, { origin, secret, host } = peer) => {
      const message = ['POST', '/api/federation/stubs', { homeUserId, homeInstance: host }] as [string, string, object]
      return (await sendAsPeer(replicas.one, message, { origin, secret })).status
    }

    const statuses = []
    for (let count = 1; count <= 61; count += 1) statuses.push(await resolve(String(count)))

    expect(statuses).to.deep.equal([...Array(60).fill(201), 429])
    expect(await resolve('1', another)).to.equal(201)
  })

  describe('of the endpoints for peers, in a minute:', () => {
    let instance: TestInstance
    before(async () => void (instance = await startTestInstance('a')))
    after(() => instance[Symbol.asyncDispose]())

    for (const [path, body, limit] of [
      ['users/lookup', { username: 'admin' }, policy.lookups],
      ['users/by-home-id', { homeUserId: 'x' }, policy.lookups],
      ['verify-attach-proof', { token: 'a'.repeat(64) }, policy.lookups],
      ['relay', { version: 1, events: [] }, policy.relays],
    ] as const) {
      it(`${limit.requests} of ${path} for each, and the next one is 429`, async () => {
        const peer = await buildPeer(instance, { host: `${path.replace('/', '-')}.example` })
        const ask = async () => {
          const { status, headers } = await sendAsPeer(instance, ['POST', `/api/federation/${path}`, body], peer)
          return [status, headers.get('ratelimit-limit')]
        }
        const sql = `insert into federation_limits (name, key, requests, ends_at)
          select ?, id::text, ?, ? from peers where host = ?`
        const endsAt = new Date(instance.clock.now() + minute)
        await instance.deps.orm.em.fork().execute(sql, [limit.name, limit.requests - 1, endsAt, peer.host])

        const answers = [await ask(), await ask()]
        instance.clock.advance(minute)

        const told = String(limit.requests)
        expect([...answers, await ask()]).to.deep.equal([
          [200, told],
          [429, told],
          [200, told],
        ])
      })
    }
  })

  /** Contract: 7, Sync. */
  it('sync: one at a time for each peer, while those of others are answered', async () => {
    await using replicas = await startReplicas()
    const peers: Awaited<ReturnType<typeof buildPeer>>[] = []
    for (const host of ['home.example', 'away.example', 'far.example'])
      peers.push(await buildPeer(replicas.one, { host }))
    const [first] = peers
    const sync = async ({ origin, secret }: { origin: string; secret: string }) => {
      const body = { sinceTimestamp: 0, limit: 1, contextType: 'profile' }
      const message = ['POST', '/api/federation/sync', body] as [string, string, object]
      return (await sendAsPeer(replicas.one, message, { origin, secret })).status
    }
    const waiting = async () => {
      const sql = "select 1 from pg_locks where not granted and relation = 'replica_hosts'::regclass"
      return (await replicas.other.deps.orm.em.fork().execute(sql)).length
    }

    const statuses: number[] = []
    const held = await replicas.other.deps.orm.em.fork().transactional(async (em) => {
      await em.execute('lock table replica_hosts')
      const syncs = peers.map((peer) => sync(peer))
      await eventually('a sync of each peer is under way', async () => (await waiting()) === 3)
      statuses.push(...(await Promise.all(Array.from({ length: 16 }, () => sync(first!)))))
      return syncs
    })

    expect(statuses).to.deep.equal(Array(16).fill(503))
    expect(await Promise.all(held)).to.deep.equal([200, 200, 200])
    expect(await sync(first!)).to.equal(200)
  })

  it('leave no rows behind once their windows have ended', async () => {
    await using replicas = await startReplicas()
    const peer = await buildPeer(replicas.one, { host: 'home.example' })
    const message = ['POST', '/api/federation/users/by-home-id', { homeUserId: 'x' }] as [string, string, object]
    const rows = async () => (await replicas.one.deps.orm.em.fork().execute('select 1 from federation_limits')).length
    await sendAsPeer(replicas.one, message, peer)

    await replicas.one.runDue()
    const before = await rows()
    replicas.clock.advance(minute)
    await replicas.one.runDue()

    expect([before, await rows()]).to.deep.equal([1, 0])
  })
})
