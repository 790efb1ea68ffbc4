import { applyAccountStates, type ToldState } from '@gatehouse/contracts'
import { insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { policy } from '../src/policy.ts'
import { buildPeer, secretOfPeer, sendAsPeer, sendJson, startFakePeer, type FakePeer } from './fake-peer.ts'
import { startTestInstance, type TestInstance } from './harness.ts'

type Event = { eventType: string; messageId: string; accountState?: Record<string, unknown> }

/** Contract: 7, Account states. */
describe('account states: what peers are told', () => {
  let instance: TestInstance
  let peer: FakePeer
  let user: { id: string }
  let sent: Event[][]
  let answer: (events: Event[], response: ServerResponse) => void
  beforeEach(async () => {
    instance = await startTestInstance('a')
    peer = await startFakePeer('b')
    await buildPeer(instance, { host: peer.host, origin: peer.origin })
    const named = { replicatedInstances: [{ origin: peer.origin, username: 'x' }], profileUpdatedAt: 5 }
    user = await insertUser(instance.deps, { username: 'erin', ...named })
    sent = []
    answer = (events, response) => sendJson(response, 200, { accepted: idsOf(events), rejected: [] })
    peer.answer = ({ path, body }, response) => {
      if (path !== '/api/federation/relay') return false
      const { events } = JSON.parse(body.toString()) as { events: Event[] }
      sent.push(events)
      answer(events, response)
    }
  })
  afterEach(async () => {
    await instance[Symbol.asyncDispose]()
    await peer[Symbol.asyncDispose]()
  })

  const idsOf = (events: Event[]) => events.map(({ messageId }) => messageId)
  const execute = async (sql: string, parameters: unknown[] = []) =>
    await instance.deps.orm.em.fork().execute<Record<string, unknown>[]>(sql, parameters)
  /** As identity does it: test/account-states.test.ts there. */
  const change = async (suspendedAt: number | null, at: number) => {
    await execute('update users set suspended_at = ?, suspension_changed_at = ? where id = ?', [
      suspendedAt,
      at,
      user.id,
    ])
    await execute(
      `insert into federation_deliveries (peer_id, user_id, version, next_attempt_at, expires_at)
       select id, ?, ?, ?, ? from peers on conflict (peer_id, user_id) do update set version = excluded.version,
         attempts = 0, next_attempt_at = excluded.next_attempt_at`,
      [user.id, at, new Date(instance.clock.now()), new Date(instance.clock.now() + 1e9)],
    )
  }
  const queued = async () => (await execute('select user_id from federation_deliveries')).length
  const statesSent = () =>
    sent.flat().flatMap(({ accountState }) => (accountState ? [[accountState['state'], accountState['ts']]] : []))

  it('is one event beside the profile, as existing instances read them', async () => {
    await change(20, 20)
    await instance.runDue()

    expect(sent).to.have.length(1)
    expect(sent[0]?.map(({ eventType }) => eventType)).to.deep.equal(['profile_update', 'account_state'])
    expect(sent[0]?.[1]).to.deep.equal({
      eventType: 'account_state',
      contextType: 'profile',
      messageId: `${user.id}-20`,
      encryptionVersion: 0,
      timestamp: 20,
      accountState: { homeUserId: user.id, homeInstance: instance.origin, state: 'suspended', ts: 20 },
    })
    expect(await queued()).to.equal(0)
  })

  it('is nothing of an account that was never suspended', async () => {
    await execute(`insert into federation_deliveries select id, ?, 5, 0, ?, ? from peers`, [
      user.id,
      ...[0, 1e9].map((ms) => new Date(instance.clock.now() + ms)),
    ])
    await instance.runDue()

    expect(sent.map((events) => events.map(({ eventType }) => eventType))).to.deep.equal([['profile_update']])
  })

  it('ends where the peer knows no such event', async () => {
    answer = ([profile, state], response) => {
      const rejected = [{ messageId: state?.messageId, reason: 'unknown_event_type' }]
      sendJson(response, 200, { accepted: idsOf([profile!]), rejected })
    }
    await change(20, 20)
    await instance.runDue()

    expect([sent.length, await queued()]).to.deep.equal([1, 0])
  })

  it('waits for a peer that is down, and is the newest state when it is up again', async () => {
    answer = (_events, response) => sendJson(response, 503, {})
    await change(20, 20)
    await instance.runDue()
    const whileDown = [statesSent(), await queued()]
    await change(null, 30)
    answer = (events, response) => sendJson(response, 200, { accepted: idsOf(events), rejected: [] })
    await instance.runDue()

    expect(whileDown).to.deep.equal([[['suspended', 20]], 1])
    expect(statesSent().slice(1)).to.deep.equal([['active', 30]])
    expect(await queued()).to.equal(0)
  })

  it('is sent again where it changes while it is under way, and after an answer that leaves it out', async () => {
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    answer = (events, response) => {
      asked.resolve()
      void held.promise.then(() => sendJson(response, 200, { accepted: idsOf(events), rejected: [] }))
    }
    await change(20, 20)
    const first = instance.runDue()
    await asked.promise
    await change(null, 30)
    answer = ([profile], response) => sendJson(response, 200, { accepted: idsOf([profile!]), rejected: [] })
    held.resolve()
    await first
    await instance.runDue()
    const afterLoss = await queued()
    answer = (events, response) => sendJson(response, 200, { accepted: idsOf(events), rejected: [] })
    instance.clock.advance(policy.deliveryDelaysMs[0])
    await instance.runDue()

    expect(statesSent()).to.deep.equal([
      ['suspended', 20],
      ['active', 30],
      ['active', 30],
    ])
    expect([afterLoss, await queued()]).to.deep.equal([1, 0])
  })

  it('is at most fifty events at a time', async () => {
    await execute(
      `insert into users (id, username, password_hash, replicated_instances, profile_updated_at, suspension_changed_at)
       select n, 'many' || n, '!', '[]', 1, 1 from generate_series(1000, 1059) n`,
    )
    await execute(
      `insert into federation_deliveries select peers.id, users.id, 1, 0, ?, ? from peers, users where users.id >= 1000
         and suspension_changed_at is not null`,
      [0, 1e9].map((ms) => new Date(instance.clock.now() + ms)),
    )
    await instance.runDue()

    expect(sent.map(({ length }) => length)).to.deep.equal([50, 50, 20])
    expect(await queued()).to.equal(0)
  })
})

/** Contract: 7, Account states. */
describe('account states: what a peer tells', () => {
  const signer = { origin: 'https://nova.example', host: 'nova.example', secret: secretOfPeer }
  let instance: TestInstance
  let asked: { origin: string; host: string; states: ToldState[] }[]
  let answering: AsyncDisposable
  before(async () => {
    instance = await startTestInstance('a')
    await buildPeer(instance, signer)
    answering = await instance.deps.bus.respond(applyAccountStates, async (request) => {
      asked.push(request)
      return { unknown: request.states.map(({ homeUserId }) => homeUserId).filter((id) => id.startsWith('stranger')) }
    })
  })
  after(async () => {
    await answering[Symbol.asyncDispose]()
    await instance[Symbol.asyncDispose]()
  })
  beforeEach(() => void (asked = []))

  const good = { homeUserId: '7', homeInstance: signer.origin, state: 'suspended', ts: 20 }
  const eventOf = (accountState: unknown, messageId = 'm') => ({
    eventType: 'account_state',
    contextType: 'profile',
    encryptionVersion: 0,
    timestamp: 20,
    messageId,
    accountState,
  })
  const relay = async (events: object[]) => {
    const { status, body } = await sendAsPeer(
      instance,
      ['POST', '/api/federation/relay', { version: 1, events }],
      signer,
    )
    return { status, accepted: body['accepted'], rejected: body['rejected'] }
  }
  const noRecipient = { messageId: 'm', reason: 'recipient_not_found' }

  it('goes to identity as of the signer, whether it names itself by origin or host', async () => {
    const answers = [await relay([eventOf(good)]), await relay([eventOf({ ...good, homeInstance: 'NOVA.example' })])]

    expect(answers).to.deep.equal([1, 2].map(() => ({ status: 200, accepted: ['m'], rejected: [] })))
    const states = [{ homeUserId: '7', state: 'suspended', ts: 20 }]
    const { origin, host } = signer
    expect(asked).to.deep.equal([1, 2].map(() => ({ origin, host, states })))
  })

  it('about users of others or of this instance, of wrong types, or with a NUL is an unknown recipient', async () => {
    const wrong = [
      { homeInstance: 'other.example' },
      { homeInstance: instance.origin },
      { homeInstance: 'evil.nova.example' },
      { homeInstance: null },
      { homeUserId: 7 },
      { homeUserId: '' },
      { homeUserId: 'a\0b' },
      { homeUserId: '\ud800' },
      { homeUserId: 'x'.repeat(65) },
      { state: 'deleted' },
      { state: ['suspended'] },
      { ts: '20' },
      { ts: 1.5 },
      { ts: null },
      { ts: 1e300 },
    ].map((fault) => ({ ...good, ...fault }))
    for (const accountState of [...wrong, undefined, null, 'suspended', [good]]) {
      const answer = await relay([eventOf(accountState)])
      expect(answer, JSON.stringify(accountState)).to.deep.equal({ status: 200, accepted: [], rejected: [noRecipient] })
    }
    const nobody = await relay([eventOf({ ...good, homeUserId: 'stranger' })])

    expect(nobody).to.deep.equal({ status: 200, accepted: [], rejected: [noRecipient] })
    expect(asked.map(({ states }) => states[0]?.homeUserId)).to.deep.equal(['stranger'])
  })

  it('fifty times at once is the latest of each user, and each is answered', async () => {
    const told = Array.from({ length: 50 }, (_, index) => {
      const homeUserId = index % 5 === 4 ? 'stranger' : String(index % 5)
      return eventOf({ ...good, homeUserId, state: index % 2 ? 'active' : 'suspended', ts: 1_000 - index }, `m${index}`)
    })
    const { status, accepted, rejected } = await relay(told)

    expect([status, (accepted as string[]).length, (rejected as object[]).length]).to.deep.equal([200, 40, 10])
    expect(asked).to.have.length(1)
    expect(asked[0]?.states.map(({ homeUserId, ts }) => [homeUserId, ts])).to.deep.equal([
      ...[0, 1, 2, 3].map((n) => [String(n), 1_000 - n]),
      ['stranger', 996],
    ])
  })

  it('comes again where identity gives no answer', async () => {
    await answering[Symbol.asyncDispose]()
    const { status, rejected } = await relay([eventOf(good)])
    answering = await instance.deps.bus.respond(applyAccountStates, async () => ({ unknown: [] }))

    expect([status, rejected]).to.deep.equal([200, [{ messageId: 'm', reason: 'temporarily_unavailable' }]])
    expect((await relay([eventOf(good)])).accepted).to.deep.equal(['m'])
  })
})
