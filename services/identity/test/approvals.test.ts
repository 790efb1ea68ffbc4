import { registrationChanged, userCreated } from '@gatehouse/contracts'
import { InviteRedemption, SignIn, User } from '@gatehouse/domain'
import { answered, failAfterCommit, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startRegistrationSweep } from '../src/operations/retention.ts'
import { buildInvite, buildUser, collectEvents } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import {
  buildApprovingAdmin,
  buildRegistration,
  countBlocks,
  countHolders,
  freshName,
  readRegistrations,
  register,
  setApproval,
} from './registration-builders.ts'

const minute = 60_000
const day = 24 * 60 * minute
const firefox = { headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' } }
const list = '/api/admin/registrations'

const answerOf = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
const pending = [403, 'registration_pending']
const unknown = [404, 'registration_unknown']
const decided = [409, 'registration_decided']

type Listed = { id: string; username: string; deniedAt: number | null; reason: string | null }

/** Contract: 3, Approval. */
describe('Approval of registrations', () => {
  let identity: TestIdentity
  let admin: User
  beforeEach(async () => {
    identity = await startTestIdentity()
    admin = await buildApprovingAdmin(identity)
  })
  afterEach(async () => await identity[Symbol.asyncDispose]())

  const listed = async (query = '') => {
    const { body } = await answered(identity.call('GET', `${list}?${query}`, { as: admin }))
    return body as unknown as { registrations: Listed[]; total: number; nextCursor: string | null }
  }
  const decide = (id: string, decision: 'approve' | 'deny' | 'restore', body?: object) =>
    identity.call('POST', `${list}/${id}/${decision}`, { as: admin, ...(body && { body }) })
  const logIn = (username: string, password = testPassword) =>
    identity.call('POST', '/api/auth/login', { body: { username, password } })
  const read = async (receipt: string) =>
    (await answered(identity.call('POST', '/api/auth/registration', { body: { receipt } }))).body
  const isFree = async (username: string) =>
    (await identity.call('GET', `/api/auth/check-username?username=${username}`)).body['available']
  const info = async () => (await identity.call('GET', '/api/instance/info')).body
  const sweep = async () => {
    await using task = startRegistrationSweep(identity.deps)
    await task.runNow()
  }
  const audit = async () => {
    const { body } = await answered(identity.call('GET', '/api/admin/audit', { as: admin }))
    return body['entries'] as Record<string, unknown>[]
  }

  it('while it is off leaves every registration as it is, and says nothing of itself', async () => {
    const federated = () => ({ username: `${freshName()}@home.example`, homeInstance: 'home.example' })
    const statuses = async () => {
      const { token: inviteToken } = await buildInvite(identity)
      return [
        (await register(identity)).status,
        (await register(identity, { reason: 'because' })).status,
        (await register(identity, { inviteToken: 'nonsense' })).status,
        (await register(identity, { inviteToken })).status,
        (await register(identity, federated())).status,
      ]
    }
    const matrix = async (approvalRequired: boolean) => {
      await setApproval(identity, { approvalRequired, askReason: true, registrationOpen: true })
      const open = await statuses()
      await setApproval(identity, { registrationOpen: false })
      return { open, closed: await statuses(), info: await info() }
    }

    const off = await matrix(false)
    const on = await matrix(true)

    expect([off.open, off.closed]).to.deep.equal([
      [201, 201, 201, 201, 201],
      [403, 403, 403, 201, 201],
    ])
    // Without a reason, with one; invites stand for the approval, and are judged.
    expect([on.open, on.closed]).to.deep.equal([
      [400, 202, 403, 201, 201],
      [403, 403, 403, 201, 201],
    ])
    expect(off.info).to.not.have.any.keys('approvalRequired', 'askReason')
    expect(on.info).to.include({ approvalRequired: true, askReason: true })
    expect(await identity.deps.orm.em.fork().count(InviteRedemption, {})).to.equal(3)
  })

  it('holds the name, keeps no session, and tells nobody but who has the password that it waits', async () => {
    await using events = await collectEvents(identity, [registrationChanged, userCreated])
    const given = { username: 'Grace', displayName: ' Grace H. ', reason: ' I sail.\nOften. ' }
    const answer = await register(identity, given, firefox)
    const { receipt, ...told } = answer.body
    identity.hasher.verified = []

    expect([answer.status, told]).to.deep.equal([202, { pending: true, username: 'grace' }])
    expect(answerOf(await logIn('grace'))).to.deep.equal(pending)
    expect(answerOf(await logIn('@grace'))).to.deep.equal(pending)
    const wrong = await logIn('grace', 'wrong password')
    expect([answerOf(wrong), wrong.body]).to.deep.equal([
      [401, 'invalid_credentials'],
      (await logIn('nobody', 'wrong password')).body,
    ])
    expect(identity.hasher.verified).to.have.length(4)
    expect(await isFree('grace')).to.equal(false)
    expect(answerOf(await register(identity, { username: 'grace' }))).to.deep.equal([409, 'username_taken'])
    const operator = { as: 'operator', body: { username: 'grace', password: testPassword } } as const
    expect((await identity.call('POST', '/internal/operator/users', operator)).status).to.equal(409)
    expect(await countHolders(identity, 'grace')).to.deep.equal([0, 1])

    expect(await read(String(receipt))).to.deep.equal({ state: 'pending', username: 'grace' })
    expect(await read('unknown')).to.deep.equal({ state: 'ended', username: null })
    const [row] = await readRegistrations(identity)
    expect(JSON.stringify(row)).to.not.include(String(receipt))
    expect(await listed()).to.deep.equal({
      registrations: [
        {
          id: row!.id,
          username: 'grace',
          displayName: 'Grace H.',
          reason: 'I sail.\nOften.',
          provider: null,
          network: '127.0.0.1',
          client: 'Firefox · Linux',
          createdAt: identity.clock.now(),
          deniedAt: null,
        },
      ],
      total: 1,
      nextCursor: null,
    })
    const overview = await answered(identity.call('GET', '/api/admin/overview', { as: admin }))
    expect(overview.body).to.include({ pendingRegistrations: 1 })
    const requested = { registrationId: row!.id, at: identity.clock.now(), actor: null, change: 'requested' }
    expect(events.published.map(({ payload }) => payload)).to.deep.equal([requested])
  })

  it('asks for a reason of at most 500 characters where it is set so', async () => {
    const long = 'x'.repeat(501)
    expect(answerOf(await register(identity, { reason: long }))).to.deep.equal([400, 'reason_too_long'])
    expect((await register(identity, { reason: null })).status).to.equal(202)
    await setApproval(identity, { askReason: true })

    expect(answerOf(await register(identity, { reason: ' ' }))).to.deep.equal([400, 'reason_required'])
    expect((await register(identity, { reason: long.slice(1) })).status).to.equal(202)
  })

  it('approved makes the account as registration would have, without a session', async () => {
    const given = { username: 'grace', displayName: 'Grace', avatarColor: 'teal', reason: 'I sail.' }
    const { id, receipt } = await buildRegistration(identity, given)
    await using events = await collectEvents(identity, [userCreated])
    identity.clock.advance(day)

    expect((await decide(id, 'approve')).body).to.deep.equal({ success: true })

    const user = await identity.deps.orm.em.fork().findOneOrFail(User, { username: 'grace' })
    expect(user).to.include({ displayName: 'Grace', avatarColor: 'teal', isAdmin: false, hasPassword: true })
    expect(user.createdAt.getTime()).to.equal(identity.clock.now())
    expect(await identity.deps.orm.em.fork().count(SignIn, { userId: user.id })).to.equal(0)
    expect((await events.ofUser(user.id, 1))[0]!.payload).to.include({ origin: 'local' })
    expect((await logIn('grace')).status).to.equal(200)
    expect((await listed()).registrations).to.deep.equal([])
    const [entry] = await audit()
    expect(entry).to.include({ action: 'registration.approved', targetId: user.id, targetName: 'grace' })
    const { id: rowId, receiptHash, createdAt, userId, ...rest } = (await readRegistrations(identity))[0]!
    expect([rowId, userId, new Set(Object.values(rest))]).to.deep.equal([id, user.id, new Set([null])])
    expect([receiptHash.length, createdAt.getTime()]).to.deep.equal([64, identity.clock.now() - day])

    for (const decision of ['approve', 'deny', 'restore'] as const)
      expect(answerOf(await decide(id, decision)), decision).to.deep.equal(decided)
    expect(await read(receipt)).to.deep.equal({ state: 'approved', username: 'grace' })
    const self = { as: user, body: { username: 'grace', password: testPassword } }
    await answered(identity.call('DELETE', '/api/users/@me', self))
    expect(await read(receipt)).to.deep.equal({ state: 'ended', username: null })
  })

  it('denied can be restored for a minute, and then leaves nothing', async () => {
    const { id, receipt, username } = await buildRegistration(identity, { reason: 'robot' })
    const denial = await decide(id, 'deny', { reason: 'no humans' })
    expect(denial.body).to.deep.equal({ success: true, restorableUntil: identity.clock.now() + minute })
    expect(answerOf(await decide(id, 'approve'))).to.deep.equal(decided)
    expect(answerOf(await decide(id, 'deny'))).to.deep.equal(decided)
    identity.clock.advance(minute - 1)
    await sweep()
    const { registrations, total } = await listed()
    expect([registrations[0]?.deniedAt, total]).to.deep.equal([identity.clock.now() - minute + 1, 0])
    expect([await read(receipt), answerOf(await logIn(username))]).to.deep.equal([
      { state: 'pending', username },
      pending,
    ])
    expect((await register(identity, { username })).status).to.equal(409)

    expect((await decide(id, 'restore')).body).to.deep.equal({ success: true })
    expect(answerOf(await decide(id, 'restore'))).to.deep.equal(decided)
    expect((await listed()).total).to.equal(1)
    await decide(id, 'deny')
    identity.clock.advance(minute)

    for (const decision of ['approve', 'deny', 'restore'] as const)
      expect(answerOf(await decide(id, decision)), decision).to.deep.equal(unknown)
    expect([await read(receipt), answerOf(await logIn(username))]).to.deep.equal([
      { state: 'ended', username: null },
      [401, 'invalid_credentials'],
    ])
    expect([(await listed()).registrations, await isFree(username)]).to.deep.equal([[], true])
    await sweep()
    expect(await readRegistrations(identity)).to.deep.equal([])
    const entries = (await audit()).filter(({ action }) => String(action).startsWith('registration.'))
    expect(entries.map(({ action, detail }) => [action, detail])).to.deep.equal([
      ['registration.denied', {}],
      ['registration.restored', {}],
      ['registration.denied', { reason: 'no humans' }],
    ])
    expect(JSON.stringify(entries)).to.not.include(username)
    expect(answerOf(await decide('1', 'deny'))).to.deep.equal(unknown)
  })

  it('denied with a block refuses the network for as long as is set, and a restored one lifts its block', async () => {
    const from = (address: string) => ({ address })
    const robots = [
      await buildRegistration(identity, {}, from('2001:db8:1:2::1')),
      await buildRegistration(identity, {}, from('2001:db8:1:2::2')),
    ]
    const attempt = async (address: string) => answerOf(await register(identity, {}, from(address)))
    for (const { id } of robots) await decide(id, 'deny', { block: true })

    expect(await attempt('2001:db8:1:2::3')).to.deep.equal([403, 'registration_blocked'])
    expect(await attempt('2001:db8:1:3::3')).to.deep.equal([202, null])
    const { token: inviteToken } = await buildInvite(identity)
    expect((await register(identity, { inviteToken }, from('2001:db8:1:2::3'))).status).to.equal(201)
    await decide(robots[0]!.id, 'restore')
    expect(await attempt('2001:db8:1:2::3')).to.deep.equal([403, 'registration_blocked'])
    identity.clock.advance(day - 1)
    await sweep()
    expect(await attempt('2001:db8:1:2::3')).to.deep.equal([403, 'registration_blocked'])
    identity.clock.advance(1)
    expect(await attempt('2001:db8:1:2::3')).to.deep.equal([202, null])
    await sweep()
    expect(await countBlocks(identity)).to.equal(0)
    await setApproval(identity, { denialBlockHours: 0 })
    const [again] = (await listed()).registrations
    await decide(again!.id, 'deny', { block: true })
    expect(await countBlocks(identity)).to.equal(0)
  })

  it('ends after 30 days: the name is free at once, and nothing is kept', async () => {
    const { id, username, receipt } = await buildRegistration(identity)
    const approved = await buildRegistration(identity)
    await answered(decide(approved.id, 'approve'))
    identity.clock.advance(30 * day - 1)
    await sweep()
    expect(await read(receipt)).to.deep.equal({ state: 'pending', username })
    expect(await read(approved.receipt)).to.include({ state: 'approved' })
    identity.clock.advance(1)

    expect([await read(receipt), await read(approved.receipt)]).to.deep.equal([
      { state: 'ended', username: null },
      { state: 'ended', username: null },
    ])
    expect([answerOf(await decide(id, 'approve')), (await listed()).registrations]).to.deep.equal([unknown, []])
    const later = await buildRegistration(identity, { username })
    await sweep()
    expect((await readRegistrations(identity)).map((row) => row.id)).to.deep.equal([later.id])
  })

  it('lists the oldest first in pages, and finds by name, reason and network', async () => {
    const all = [
      await buildRegistration(identity, { reason: 'I like 100% tea' }),
      await buildRegistration(identity, { displayName: 'Teapot' }),
      await buildRegistration(identity, { reason: 'coffee' }, { address: '203.0.113.9' }),
    ]
    const idsOf = ({ registrations }: { registrations: Listed[] }) => registrations.map(({ id }) => id)
    const ids = all.map(({ id }) => id)

    const page = await listed('limit=2')
    expect([idsOf(page), page.total]).to.deep.equal([ids.slice(0, 2), 3])
    expect(idsOf(await listed(`limit=2&cursor=${page.nextCursor}`))).to.deep.equal(ids.slice(2))
    const found = await listed('q=TEA')
    expect([idsOf(found), found.total, found.nextCursor]).to.deep.equal([ids.slice(0, 2), 2, null])
    expect(idsOf(await listed('q=100%25'))).to.deep.equal(ids.slice(0, 1))
    expect(idsOf(await listed('q=203.0.113'))).to.deep.equal(ids.slice(2))
    // Under three characters it begins a word.
    const [beginning, within] = [await listed('q=te'), await listed('q=ea')]
    expect([idsOf(beginning), within.total]).to.deep.equal([ids.slice(0, 2), 0])
    expect(idsOf(await listed(`q=${all[2]!.username}`))).to.deep.equal(ids.slice(2))
  })

  it('counts a thousand at most, of a search too, and none that was denied', async () => {
    const fill = `insert into registrations (id, receipt_hash, created_at, username, reason, denied_at)
      select n, n::text, ?, 'crowd_' || n, 'tea', case when n > ? then ?::timestamptz end from generate_series(1, 1002) n`
    const now = new Date(identity.clock.now())
    const countAt = async (waiting: number) => {
      const em = identity.deps.orm.em.fork()
      await em.execute('delete from registrations')
      await em.execute(fill, [now, waiting, now])
      return [(await listed()).total, (await listed('q=tea')).total, (await listed('q=crowd_7')).total]
    }

    expect(await countAt(1_002)).to.deep.equal([1_000, 1_000, 111])
    expect(await countAt(998)).to.deep.equal([998, 998, 111])
  })

  it('decides on many, each on its own', async () => {
    const [one, two, three] = [
      await buildRegistration(identity),
      await buildRegistration(identity),
      await buildRegistration(identity),
    ]
    const many = (body: object) => identity.call('POST', `${list}/decide`, { as: admin, body })
    await answered(decide(three.id, 'deny'))

    const denied = await many({ ids: [one.id, two.id, one.id, '1', three.id], decision: 'deny', block: true })
    const restored = await many({ ids: [two.id, three.id], decision: 'restore' })
    const approved = await many({ ids: [two.id, three.id, one.id], decision: 'approve' })

    expect(denied.body).to.deep.equal({
      decided: [one.id, two.id],
      missed: [
        { id: '1', code: 'registration_unknown' },
        { id: three.id, code: 'registration_decided' },
      ],
    })
    expect(restored.body).to.deep.equal({ decided: [two.id, three.id], missed: [] })
    expect(approved.body).to.deep.equal({
      decided: [two.id, three.id],
      missed: [{ id: one.id, code: 'registration_decided' }],
    })
    expect(await countBlocks(identity)).to.equal(1)
    expect((await many({ ids: Array.from({ length: 201 }, (_, n) => `${n}`), decision: 'deny' })).status).to.equal(400)
    expect((await many({ ids: [], decision: 'deny' })).status).to.equal(400)
    const member = await buildUser(identity)
    expect((await identity.call('POST', `${list}/decide`, { as: member, body: {} })).status).to.equal(403)
  })

  it('tells of many which it has decided when PostgreSQL goes away in between', async () => {
    const [one, two] = [await buildRegistration(identity), await buildRegistration(identity)]
    const many = () => {
      const body = { ids: [one.id, two.id], decision: 'deny' }
      return identity.call('POST', `${list}/decide`, { as: admin, body })
    }

    const first = await failAfterCommit(many)
    const second = await many()

    expect(first.body).to.deep.equal({ decided: [one.id], missed: [{ id: two.id, code: 'unavailable' }] })
    expect(second.body).to.deep.equal({ decided: [two.id], missed: [{ id: one.id, code: 'registration_decided' }] })
  })

  it('is not needed for the first account, and of sixteen that would be it one is', async () => {
    await using empty = await startTestIdentity()
    await setApproval(empty, { approvalRequired: true, askReason: true })

    const answers = await Promise.all(Array.from({ length: 16 }, () => untilAvailable(() => register(empty))))

    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    // Who asks after the first account is there has to give a reason.
    const others = answers.filter(({ status }) => status !== 201)
    expect(others.filter(({ status, body }) => status !== 202 && body['code'] !== 'reason_required')).to.be.empty
    expect(await empty.deps.orm.em.fork().count(User, { isAdmin: true })).to.equal(1)
    expect(answerOf(await register(empty))).to.deep.equal([400, 'reason_required'])
  })
})
