import * as events from '@gatehouse/contracts'
import { eventually, insertUser } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { tellAllowed } from './write-notices.ts'
import { origin, pass, startApplications, startReceiver, type Applications } from '../../test/applications.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Contract: 3, Applications. */
describe('Telling applications', () => {
  let stack: AsyncDisposableStack
  let applications: Applications
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  beforeEach(async () => {
    stack = new AsyncDisposableStack()
    receiver = stack.use(await startReceiver())
    applications = stack.use(await startApplications())
  })
  afterEach(() => stack.disposeAsync())

  const person = () => insertUser({ orm: applications.orm })
  const withSignals = (to = receiver, name = 'Wiki') =>
    applications.buildApplication({ name, signalsUri: to.url('/signals') })
  const run = () => applications.openid.runDue()

  it('names the person by the subject that the application knows', async () => {
    const { id: accountId } = await person()
    const uris = { backchannelLogoutUri: receiver.url('/logout'), signalsUri: receiver.url('/signals') }
    const { id } = await applications.buildApplication({ ...uris, subjectType: 'pairwise' })
    await applications.allow(accountId, id)
    const subject = await applications.openid.deps.subjects.of('wiki.example', accountId)

    await applications.happen(events.sessionsEnded, accountId)
    await run()

    const told = receiver.received.map(({ claims }) => claims.sub ?? (claims['sub_id'] as { sub: string }).sub)
    expect(told).to.deep.equal([subject, subject])
    expect(JSON.stringify(receiver.received)).to.not.include(accountId)
  })

  it('logs a person out by a logout token, and says what happened by security event tokens', async () => {
    const { id: accountId } = await person()
    const uris = { backchannelLogoutUri: receiver.url('/logout'), signalsUri: receiver.url('/signals') }
    const { id } = await applications.buildApplication(uris)
    await applications.allow(accountId, id)

    const cause = await applications.happen(events.passwordReset, accountId, {
      actor: { userId: applications.admin.id, username: 'founder' },
    })
    await run()

    const [logout] = receiver.received.filter(({ path }) => path === '/logout')
    expect(logout!.type).to.equal('application/x-www-form-urlencoded')
    expect(logout!.header.typ).to.equal('logout+jwt')
    expect(logout!.claims).to.include({ iss: origin, aud: id, sub: accountId })
    expect(logout!.claims.events).to.deep.equal({ 'http://schemas.openid.net/event/backchannel-logout': {} })
    expect(logout!.claims.exp! - logout!.claims.iat!).to.equal(120)
    expect(logout!.claims).to.not.have.property('nonce')
    const signals = receiver.received.filter(({ path }) => path === '/signals')
    expect(signals.map(({ type, header }) => [type, header.typ])).to.deep.equal(
      signals.map(() => ['application/secevent+jwt', 'secevent+jwt']),
    )
    const caep = 'https://schemas.openid.net/secevent/caep/event-type/'
    const at = Math.floor(Date.UTC(2026, 0, 1) / 1000)
    const by = { event_timestamp: at, initiating_entity: 'admin' }
    expect(signals.map(({ claims }) => claims['events'])).to.deep.equal([
      { [`${caep}session-revoked`]: by },
      { [`${caep}credential-change`]: { ...by, credential_type: 'password', change_type: 'update' } },
    ])
    const [{ claims }] = signals as [(typeof signals)[number]]
    expect(claims).to.deep.include({ iss: origin, aud: id, txn: cause, toe: at })
    expect(claims['sub_id']).to.deep.equal({ format: 'iss_sub', iss: origin, sub: accountId })
    expect(claims).to.not.have.any.keys('sub', 'exp')
    expect(new Set(receiver.received.map((one) => one.claims.jti)).size).to.equal(3)
  })

  it('says each kind of event in its own words', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    const passkey = { passkeyId: '1', name: 'phone' }

    await applications.happen(events.passwordChanged, accountId)
    await applications.happen(events.sessionsEnded, accountId)
    await applications.happen(events.secondFactorChanged, accountId, { change: 'on' })
    await applications.happen(events.secondFactorChanged, accountId, { change: 'due' })
    await applications.happen(events.passkeyAdded, accountId, passkey)
    await applications.happen(events.passkeyRemoved, accountId, passkey)
    await applications.happen(events.userSuspended, accountId, { reason: null })
    await applications.happen(events.userUnsuspended, accountId)
    await applications.happen(events.userDeleted, accountId, { mode: 'soft', audience: [] })
    await run()

    expect(receiver.events()).to.deep.equal([
      'session-revoked',
      'credential-change',
      'session-revoked',
      'credential-change',
      'credential-change',
      'credential-change',
      'session-revoked',
      'account-disabled',
      'account-enabled',
      'session-revoked',
      'account-purged',
    ])
    const left = await applications.orm.em.fork().execute('select 1 from application_consents')
    expect(left).to.deep.equal([])
  })

  it('tells exactly the applications that the account allowed something', async () => {
    const [ann, ben] = [await person(), await person()]
    const others = stack.use(await startReceiver())
    const [wiki, forum] = [await withSignals(), await withSignals(others, 'Forum')]
    await applications.buildApplication({ name: 'Without receivers' })
    await applications.allow(ann.id, wiki.id)
    await applications.allow(ben.id, forum.id)

    await applications.happen(events.sessionsEnded, ann.id)
    await run()

    expect([receiver.events(), others.events()]).to.deep.equal([['session-revoked'], []])
    await applications.happen(events.sessionsEnded, ben.id)
    await run()
    expect([receiver.events(), others.events()]).to.deep.equal([['session-revoked'], ['session-revoked']])
  })

  it('tells an event that the bus delivers again once, also after it was sent', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    const eventId = await applications.happen(events.sessionsEnded, accountId)
    await run()
    const facts = [{ kind: 'session-revoked', accountId, at: applications.clock.now(), by: 'user' }] as const
    const em = applications.orm.em.fork()

    expect(await tellAllowed(em, accountId, { eventId, facts })).to.equal(0)
    expect(await tellAllowed(em, accountId, { eventId: 'another', facts })).to.equal(1)
  })

  it('does not say that an account is disabled after it was said to be enabled', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    const suspendedAt = applications.clock.now()
    applications.clock.advance(1)
    await applications.happen(events.userUnsuspended, accountId)
    await run()

    await applications.happen(events.userSuspended, accountId, { reason: null, at: suspendedAt })
    await run()

    expect(receiver.events()).to.deep.equal(['account-enabled', 'session-revoked'])
  })

  it('keeps the order for a receiver that is down for two days, and says how it goes', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    receiver.state.answer = 503
    const downSince = applications.clock.now()
    await applications.happen(events.userSuspended, accountId, { reason: null })
    await run()
    await pass(applications, dayMs)
    await applications.happen(events.userUnsuspended, accountId)
    await pass(applications, dayMs)

    const down = (await applications.receiverOf(id)).signals!
    expect(down).to.include({ waiting: 3, lastDeliveredAt: null, lastError: '503' })
    expect(down.failingSince).to.be.within(downSince, downSince + 1)
    // At most every 15 minutes, and never another than the first.
    expect(receiver.received.length).to.be.within(100, 300)
    expect(new Set(receiver.received.map(({ claims }) => claims.jti)).size).to.equal(1)
    receiver.received.length = 0
    receiver.state.answer = 202

    await pass(applications, hourMs / 2)

    expect(receiver.events()).to.deep.equal(['session-revoked', 'account-disabled', 'account-enabled'])
    expect((await applications.receiverOf(id)).signals).to.deep.include({
      waiting: 0,
      failingSince: null,
      lastError: null,
    })
  })

  it('drops what a receiver did not take in three days', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    receiver.state.answer = 503
    await applications.happen(events.sessionsEnded, accountId)
    await run()
    await pass(applications, 3 * dayMs, hourMs)
    receiver.state.answer = 202
    receiver.received.length = 0
    await pass(applications, hourMs)
    expect(receiver.received).to.deep.equal([])

    await applications.happen(events.userUnsuspended, accountId)
    await pass(applications, hourMs)

    expect(receiver.events()).to.deep.equal(['account-enabled'])
  })

  it('gives up what a receiver refuses with 400, and shows why', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    receiver.state.answer = { status: 400, body: { err: 'invalid_key', description: 'no such\nkey' } }
    await applications.happen(events.userSuspended, accountId, { reason: null })

    await run()
    await pass(applications, dayMs, hourMs)

    expect(receiver.events()).to.deep.equal(['session-revoked', 'account-disabled'])
    const state = (await applications.receiverOf(id)).signals
    expect(state).to.include({ waiting: 0, lastError: '400 invalid_key no such key', lastDeliveredAt: null })
  })

  it('keeps the order when the first of several fails once', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    let failures = 0
    receiver.state.answer = () => (failures++ % 2 === 0 ? 500 : 202)
    for (let n = 0; n < 3; n += 1) await applications.happen(events.userSuspended, accountId, { reason: null })

    await run()
    await pass(applications, hourMs)

    // Each came twice, one after the other.
    const ids = receiver.received.map(({ claims }) => BigInt(claims.jti!))
    expect(ids).to.have.length(12)
    expect(ids.filter((one, at) => at % 2 === 0)).to.deep.equal(ids.filter((one, at) => at % 2 === 1))
    expect(ids).to.deep.equal(ids.toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0)))
  })

  it('lets a receiver that hangs hold up no other', async () => {
    const { id: accountId } = await person()
    const hanging = stack.use(await startReceiver())
    hanging.state.answer = 'hang'
    const [wiki, forum] = [await withSignals(hanging), await withSignals(receiver, 'Forum')]
    for (const { id } of [wiki, forum]) await applications.allow(accountId, id)

    await applications.happen(events.userSuspended, accountId, { reason: null })
    applications.openid.deps.notices.notify()
    await eventually('the other was told', () => receiver.events().length === 2)

    expect((await applications.receiverOf(wiki.id)).signals!.waiting).to.equal(2)
    hanging.cutOff()
  })

  it('goes on at another replica when one dies in the middle, with the same token and in order', async () => {
    const { id: accountId } = await person()
    const { id } = await withSignals()
    await applications.allow(accountId, id)
    // It has sent the first, and will never hear the answer.
    receiver.state.answer = 'hang'
    await applications.happen(events.userSuspended, accountId, { reason: null })
    await eventually('it was sent', () => receiver.received.length === 1)
    const other = stack.use(await applications.startReplica())
    receiver.state.answer = 202
    await other.runDue()
    expect(receiver.events()).to.deep.equal(['session-revoked'])

    applications.clock.advance(20_001)
    await other.runDue()

    expect(receiver.events()).to.deep.equal(['session-revoked', 'session-revoked', 'account-disabled'])
    const [first, again] = receiver.received.map(({ claims }) => claims.jti)
    expect(again).to.equal(first)
    receiver.cutOff()
    await run()
    expect(receiver.received).to.have.length(3)
    expect((await applications.receiverOf(id)).signals).to.include({ waiting: 0, lastError: null })
  })
})
