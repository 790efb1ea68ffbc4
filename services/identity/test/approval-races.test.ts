import { nextId } from '@gatehouse/database'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LinkedIdentity, User } from '@gatehouse/domain'
import { answered, countLockWaits, eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startRegistrationSweep } from '../src/operations/retention.ts'
import { buildInvite, buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { buildTicket, issuer, linkIdentity } from './provider-builders.ts'
import { barrier, testPassword, testPasswordHash } from './quick-hasher.ts'
import {
  buildApprovingAdmin,
  buildRegistration,
  countHolders,
  freshName,
  readRegistrations,
  register,
  setApproval,
} from './registration-builders.ts'

const day = 24 * 60 * 60_000
const rounds = 8

const answerOf = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
const statusesOf = (answers: TestResponse[]) => answers.map(({ status }) => status).toSorted()

/** On a slow machine those at the end of the line for a lock may be sent away: 503. */
function expectOne(answers: TestResponse[], status: number): void {
  const [first, ...others] = statusesOf(answers)
  expect([first, others.filter((other) => other !== 409 && other !== 503)]).to.deep.equal([status, []])
}

/** Contract: 3, Approval. */
describe('Of racing acts on a registration', () => {
  let identity: TestIdentity
  let other: TestIdentity
  let admin: User
  const providersFile = join(tmpdir(), `approvals-${process.pid}.json`)
  before(async () => {
    const provider = { id: 'login', name: 'Login', issuer, clientId: 'gatehouse', clientSecret: 'a secret' }
    const trusted = { ...provider, id: 'trusted', issuer: 'https://staff.example', registration: 'open' }
    await writeFile(providersFile, JSON.stringify({ providers: [provider, trusted] }))
    identity = await startTestIdentity({ config: { providersFile } })
    other = await startTestIdentity({ config: { providersFile }, databaseUrl: identity.databaseUrl })
    admin = await buildApprovingAdmin(identity)
  })
  after(async () => {
    await other[Symbol.asyncDispose]()
    await identity[Symbol.asyncDispose]()
    await rm(providersFile)
  })
  beforeEach(() => {
    for (const { hasher } of [identity, other]) hasher.beforeWork = async () => undefined
  })

  const expire = () => [identity, other].forEach(({ clock }) => clock.advance(30 * day))
  const replica = (n: number) => (n % 2 === 0 ? identity : other)
  const decide = (id: string, decision: string, by = identity) =>
    by.call('POST', `/api/admin/registrations/${id}/${decision}`, { as: admin, body: {} })
  const sweep = async () => {
    await using task = startRegistrationSweep(identity.deps)
    await task.runNow()
  }
  const waits = (count: number) => eventually('it waits', async () => (await countLockWaits(identity.deps)) >= count)

  it('sixteen approvals on two replicas make one account', async () => {
    const { id, username } = await buildRegistration(identity)

    const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => decide(id, 'approve', replica(n))))

    expectOne(answers, 200)
    expect(await countHolders(identity, username)).to.deep.equal([1, 0])
  })

  it('an approval and a denial have one outcome', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { id, username } = await buildRegistration(identity)

      const [approval, denial] = await Promise.all([decide(id, 'approve'), decide(id, 'deny', other)])

      expect(statusesOf([approval, denial])).to.deep.equal([200, 409])
      expect(await countHolders(identity, username)).to.deep.equal(approval.status === 200 ? [1, 0] : [0, 1])
    }
  })

  it('an approval that comes to its turn after 30 days finds nothing', async () => {
    const { id, username } = await buildRegistration(identity)
    const approval = await identity.deps.orm.em.fork().transactional(async (em) => {
      await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`username ${username}`])
      const approving = decide(id, 'approve')
      await waits(1)
      expire()
      await sweep()
      return { approving }
    })

    expect(answerOf(await approval.approving)).to.deep.equal([404, 'registration_unknown'])
    expect(await countHolders(identity, username)).to.deep.equal([0, 0])
  })

  it('an approval that began in time makes the account, although the sweep takes the rest', async () => {
    const { id, username } = await buildRegistration(identity)
    const row = { username, passwordHash: testPasswordHash, createdAt: new Date(), avatarColor: 'teal' } as const
    const held = await identity.deps.orm.em
      .fork()
      .transactional(async (em) => {
        // The approval waits for what becomes of this one, which is rolled back.
        await em.insert(User, { id: await nextId(em), ...row })
        const approving = decide(id, 'approve')
        await waits(1)
        expire()
        const sweeping = sweep()
        await waits(2)
        throw Object.assign(new Error('rolled back'), { approving, sweeping })
      })
      .catch((error: unknown) => error as { approving: Promise<TestResponse>; sweeping: Promise<void> })

    expect((await held.approving).status).to.equal(200)
    await held.sweeping
    await sweep()
    expect(await countHolders(identity, username)).to.deep.equal([1, 0])
    expect(await readRegistrations(identity, { id })).to.deep.equal([])
  })

  it('of registrations of one name one waits, on two replicas', async () => {
    const together = barrier(16)
    for (const { hasher } of [identity, other]) hasher.beforeWork = together
    const username = freshName()

    const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => register(replica(n), { username })))

    expectOne(answers, 202)
    expect(await countHolders(identity, username)).to.deep.equal([0, 1])
  })

  it('an account and a registration that waits never have one name', async () => {
    const seen = new Set<number>()
    for (let round = 0; round < rounds; round += 1) {
      const username = freshName()
      const invites = [await buildInvite(identity), await buildInvite(identity)]
      const bodies = [{}, { inviteToken: invites[0]!.token }, {}, { inviteToken: invites[1]!.token }]
      const together = barrier(bodies.length + 1)
      for (const { hasher } of [identity, other]) hasher.beforeWork = together
      const operator = { as: 'operator', body: { username, password: testPassword } } as const

      const answers = await Promise.all([
        ...bodies.map((given, n) => register(replica(n >> 1), { username, ...given })),
        other.call('POST', '/internal/operator/users', operator),
      ])

      expect(statusesOf(answers).slice(1)).to.deep.equal([409, 409, 409, 409])
      const [accounts, waiting] = await countHolders(identity, username)
      expect(accounts + waiting).to.equal(1)
      seen.add(statusesOf(answers)[0]!)
    }
    expect([...seen].every((status) => status === 201 || status === 202)).to.equal(true)
  })

  it('a name or an identity that a release before gave away meanwhile is refused, and the registration waits', async () => {
    const { id, username } = await buildRegistration(identity)
    await buildUser(identity, { username })
    expect(answerOf(await decide(id, 'approve'))).to.deep.equal([409, 'username_taken'])
    expect(await countHolders(identity, username)).to.deep.equal([1, 1])

    const subject = freshName()
    const waiting = await finish(await ticketOf(subject), { username: freshName() })
    await linkIdentity(identity, await buildUser(identity), { subject })
    const { username: name } = waiting.body as { username: string }
    const [row] = await readRegistrations(identity, { username: name })
    expect(answerOf(await decide(row!.id, 'approve'))).to.deep.equal([409, 'identity_held'])
    expect(await countHolders(identity, name)).to.deep.equal([0, 1])
  })

  const ticketOf = (subject: string, overrides: { userId?: string; purpose?: 'login' | 'link' } = {}) => {
    const { userId = null, purpose = 'login' } = overrides
    return buildTicket(identity, { userId, provider: 'login', issuer, subject }, { purpose })
  }
  const finish = (ticket: string, given: object, as?: User, by = identity) =>
    by.call('POST', '/api/auth/providers/finish', { as, body: { ticket, ...given } })

  it('an identity that waits registers no second time and is linked to nobody, until it is approved', async () => {
    const subject = freshName()
    const username = freshName()
    const held = await finish(await ticketOf(subject), { username, reason: 'I sail.' })
    expect([held.status, held.body['pending']]).to.deep.equal([202, true])
    const again = await ticketOf(subject)
    const pending = [403, 'registration_pending']
    expect(answerOf(await finish(again, {}))).to.deep.equal(pending)
    expect(answerOf(await finish(again, { username: freshName() }))).to.deep.equal(pending)
    const member = await buildUser(identity)
    const link = await ticketOf(subject, { userId: member.id, purpose: 'link' })
    expect(answerOf(await finish(link, { password: testPassword }, member))).to.deep.equal(pending)
    expect(
      answerOf(await identity.call('POST', '/api/auth/login', { body: { username, password: '!' } })),
    ).to.deep.equal([401, 'invalid_credentials'])
    const [row] = await readRegistrations(identity, { username })
    const { body } = await answered(identity.call('GET', `/api/admin/registrations?q=${username}`, { as: admin }))
    expect((body['registrations'] as object[])[0]).to.include({ provider: 'login', reason: 'I sail.' })

    await answered(decide(row!.id, 'approve'))

    const loggedIn = await finish(again, {})
    expect(loggedIn.status).to.equal(200)
    expect(loggedIn.body['user']).to.include({ username, hasPassword: false })
    expect(answerOf(await finish(await ticketOf(freshName()), { username }))).to.deep.equal([409, 'username_taken'])
  })

  it('a sign-in meets the same questions as a registration, and what is refused uses no ticket up', async () => {
    const ticket = await ticketOf(freshName())
    const attempt = async (given: object = {}) =>
      answerOf(await finish(ticket, { username: freshName(), reason: 'I sail.', ...given }))
    await setApproval(identity, { askReason: true })
    expect(await attempt({ reason: null })).to.deep.equal([400, 'reason_required'])
    expect(await attempt({ reason: 'x'.repeat(501) })).to.deep.equal([400, 'reason_too_long'])
    const { id } = await buildRegistration(identity, { reason: 'robot' })
    await answered(identity.call('POST', `/api/admin/registrations/${id}/deny`, { as: admin, body: { block: true } }))
    expect(await attempt()).to.deep.equal([403, 'registration_blocked'])
    await answered(decide(id, 'restore'))

    expect(await attempt()).to.deep.equal([202, null])
    expect(await attempt()).to.deep.equal([401, 'ticket_invalid'])
    await setApproval(identity, { askReason: false })
  })

  it('a sign-in at a provider that is open to its people waits for nobody', async () => {
    const subject = freshName()
    const signedIn = { userId: null, provider: 'trusted', issuer: 'https://staff.example', subject }
    const ticket = await buildTicket(identity, signedIn, { purpose: 'login' })

    const answer = await finish(ticket, { username: freshName() })

    expect([answer.status, typeof answer.body['token']]).to.deep.equal([201, 'string'])
  })

  it('of two sign-ins with one identity one waits', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const subject = freshName()
      const tickets = [await ticketOf(subject), await ticketOf(subject)]

      const answers = await Promise.all(
        tickets.map((ticket, n) => finish(ticket, { username: freshName() }, undefined, replica(n))),
      )

      expect(statusesOf(answers)).to.deep.equal([202, 403])
      const count = await identity.deps.orm.em.fork().count(LinkedIdentity, { subject })
      expect([
        count,
        (await readRegistrations(identity)).filter((row) => row.subject === subject).length,
      ]).to.deep.equal([0, 1])
    }
  })
})
