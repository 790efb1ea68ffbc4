import { randomUUID } from 'node:crypto'
import { answered, interruptEach, openFaultyWrites, type FaultyWrites } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { recheckPeer } from '../src/operations/administer-peer.ts'
import { policy } from '../src/policy.ts'
import { buildPeer, secretOfPeer, sendAsPeer, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

/** Contract: 8, PostgreSQL. */
describe('Where PostgreSQL ends a connection, or its disk is full, in the middle of', () => {
  let instance: TestInstance
  let remote: FakePeer
  let writes: FaultyWrites
  before(async () => {
    instance = await startTestInstance('a', { autoAccept: false })
    writes = await openFaultyWrites(instance.deps.orm)
  })
  after(() => instance[Symbol.asyncDispose]())
  beforeEach(async () => {
    remote = await startPeer('b')
  })
  afterEach(() => remote[Symbol.asyncDispose]())

  async function startPeer(name: string): Promise<FakePeer> {
    const peer = await startFakePeer(name)
    peer.secret = secretOfPeer
    peer.now = () => instance.clock.now()
    return peer
  }
  const offer = () => {
    const body = { sourceOrigin: remote.origin, hmacSecret: secretOfPeer, instanceName: 'Fake' }
    return instance.call('POST', '/api/federation/peer/accept', { body })
  }
  const find = async (list: 'approval-requests' | 'peers') => {
    const { body } = await answered(instance.admin('GET', `/api/federation/${list}`))
    const rows = (body['requests'] ?? body['peers']) as { id: string; origin: string; status: string }[]
    return rows.find(({ origin }) => origin === remote.origin)
  }
  const idOf = async (list: 'approval-requests' | 'peers') => (await find(list))!.id
  const stateOfPeer = async () => (await find('peers'))?.status
  const initiate = () => instance.admin('POST', '/api/federation/peer/initiate', { remoteOrigin: remote.origin })
  const approve = (id: string) => instance.admin('POST', `/api/federation/approval-requests/${id}/approve`)

  async function expectWhole(attempt: () => Promise<{ status: number }>): Promise<void> {
    await instance.runDue()
    const statuses = await interruptEach(writes, {
      attempt: async () => (await attempt()).status,
      read: () => writes.read(),
    })
    // The last is right, the first had a full disk, and at least one lost its connection.
    expect(statuses.length).to.be.greaterThan(2)
    expect(statuses.at(-1)).to.be.oneOf([200, 202, 204])
  }

  it('the approval of a peer, it is 503, nothing is half done, and the same succeeds right afterwards', async () => {
    await answered(offer())
    const id = await idOf('approval-requests')
    await expectWhole(() => approve(id))
  })

  it('the handshake that follows an approval, it is approved all the same, and becomes active later', async () => {
    const outcomes: { code: number; state: unknown; later: unknown }[] = []
    // The first four statements are those of the decision. The outbox has one, at any time after it.
    for (const count of [5, 6, 7]) {
      await remote[Symbol.asyncDispose]()
      remote = await startPeer('c')
      await answered(offer())
      const id = await idOf('approval-requests')
      await writes.untilPublished()
      const { value, hasFailed } = await writes.failDuring(() => approve(id), { count, fault: '57P01' })
      expect(hasFailed).to.equal(true)
      const state = await stateOfPeer()
      instance.clock.advance(policy.leaseMs)
      await instance.runDue()
      outcomes.push({ code: value.status, state, later: await stateOfPeer() })
    }
    expect(outcomes.map(({ code, later }) => ({ code, later }))).to.deep.equal(
      Array(3).fill({ code: 200, later: 'active' }),
    )
    expect(outcomes.map(({ state }) => state)).to.include('pending')
  })

  it('the handshake that an admin initiates, it is answered all the same, and becomes active later', async () => {
    const outcomes: { code: number; shown: unknown; later: unknown }[] = []
    // The first three statements are those that store the peer.
    for (const count of [4, 5, 6]) {
      await remote[Symbol.asyncDispose]()
      remote = await startPeer('c')
      await writes.untilPublished()
      const { value, hasFailed } = await writes.failDuring(initiate, { count, fault: '57P01' })
      expect(hasFailed).to.equal(true)
      instance.clock.advance(policy.leaseMs)
      await instance.runDue()
      const { status: shown } = (value.body.peer ?? {}) as { status?: string }
      outcomes.push({ code: value.status, shown, later: await stateOfPeer() })
    }
    for (const outcome of outcomes) {
      expect(outcome).to.be.deep.oneOf([
        { code: 202, shown: 'pending', later: 'active' },
        // Only a statement of the outbox failed.
        { code: 200, shown: 'active', later: 'active' },
      ])
    }
    expect(outcomes.map(({ code }) => code)).to.include(202)
  })

  it('the end of a peering, it is 503, nothing is half done, and the same succeeds right afterwards', async () => {
    await answered(offer())
    await answered(approve(await idOf('approval-requests')))
    const id = await idOf('peers')
    await expectWhole(() => instance.admin('DELETE', `/api/federation/peers/${id}`))
  })

  const sync = ['/api/federation/sync', { sinceTimestamp: 0, limit: 10 }] as const
  const denial = ['/api/federation/peer/denied', { reason: 'denied_by_admin' }] as const
  for (const { what, status, sent } of [
    { what: 'a signed request of an active peer', status: 'active', sent: sync },
    { what: 'a signed request that makes a peer active', status: 'pending', sent: sync },
    { what: 'the denial of our offer', status: 'pending', sent: denial },
  ] as const) {
    it(`${what}, it is 503, and the same bytes succeed right afterwards`, async () => {
      await buildPeer(instance, { ...remote, secret: secretOfPeer, status })
      const signing = { origin: remote.origin, secret: secretOfPeer, nonce: randomUUID() }
      const send = async () => (await sendAsPeer(instance, ['POST', ...sent], signing)).status
      await writes.untilPublished()
      const statuses: number[] = []
      // The first statement claims the nonce. A disk that is full leaves the connection to the release of the nonce.
      for (const count of [1, 2, 3]) {
        statuses.push((await writes.failDuring(send, { count, fault: '53100' })).value)
      }
      statuses.push(await send())

      expect(statuses).to.deep.equal([503, 503, 503, 200])
    })
  }

  for (const status of ['unreachable', 'needs_attention'] as const) {
    it(`what follows a recheck that found its peer (${status}), it tells the status that it stored`, async () => {
      await buildPeer(instance, { ...remote, secret: secretOfPeer, status })
      const id = await idOf('peers')
      const { deps } = instance
      let commits = 0
      // The first commit is that of the audit, the second that of the status.
      const relay = { ...deps.relay, notify: () => void (commits += 1) }
      const orm = new Proxy(deps.orm, {
        get(target, name) {
          if (commits > 1) throw new Error('PostgreSQL is away')
          return Reflect.get(target, name) as unknown
        },
      })
      const actor = { userId: '1', username: 'admin', tokenIssuedAt: Math.floor(instance.clock.now() / 1000) }

      const peer = await recheckPeer({ ...deps, relay, orm }, { id, actor })

      expect([peer.status, commits]).to.deep.equal(['active', 2])
    })
  }
})
