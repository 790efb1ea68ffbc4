import { Email, Mail, RecoveryRequest, type User } from '@gatehouse/domain'
import { answered, startSmtpServer, type TestSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { resolveRecoveryRequests } from '../src/mail/resolve-recovery-requests.ts'
import { requestRecovery } from '../src/operations/email/request-recovery.ts'
import { turnOn } from './authenticator.ts'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { giveEmail, mailTo, sendMails, tokenIn } from './mail.ts'
import { testPassword } from './quick-hasher.ts'

const hour = 60 * 60 * 1000
const newPassword = 'a password of my own'

/** Contract: 3, Mail. */
describe('Recovery by mail', () => {
  let server: TestSmtpServer
  let identity: TestIdentity
  before(async () => {
    server = await startSmtpServer()
    identity = await startTestIdentity({ config: { mail: mailTo(server) } })
  })
  after(async () => {
    await identity[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })
  beforeEach(() => {
    identity.clock.advance(2 * hour)
    server.mails.length = 0
  })

  const ask = (body: object) => identity.call('POST', '/api/auth/recover/request', { body })
  const recover = async (token: string, code?: string) => {
    const { status, body } = await identity.call('POST', '/api/auth/recover', { body: { token, newPassword, code } })
    return [status, body['code'] ?? null]
  }
  const links = () => server.mails.filter(({ text }) => text.includes('/recover#'))
  const build = async (
    overrides: Parameters<typeof buildUser>[1] = {},
    email: Parameters<typeof giveEmail>[2] = {},
  ) => {
    const user = await buildUser(identity, overrides)
    await giveEmail(identity, user, { address: `${user.id}@mail.example`, ...email })
    return user
  }
  const addressOf = (user: User) => `${user.id}@mail.example`
  const count = async () => await identity.deps.orm.em.fork().count(RecoveryRequest, {})

  it('has one answer and does one thing for everybody: it stores what was typed', async () => {
    const user = await build()
    const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
    const asked: object[] = [
      { username: user.username },
      { email: addressOf(user) },
      { username: 'nobody' },
      { email: 'nobody@mail.example' },
      { email: 'no address' },
      { username: federated.username },
      {},
      { username: 7 },
      { email: null },
      { email: 'x'.repeat(10_000) },
      { username: user.username, email: 'other@mail.example' },
    ]
    const replies = []
    for (const body of asked) {
      const { status, text, headers } = await ask(body)
      replies.push([status, text, headers.get('content-length')])
    }

    expect(new Set(replies.map((reply) => JSON.stringify(reply)))).to.deep.equal(
      new Set([JSON.stringify([202, '{"success":true}', '16'])]),
    )
    expect(await count()).to.equal(asked.length)
    expect((await readUser(identity, user.id)).recoveryHash).to.equal(null)
    await sendMails(identity)
    expect(links().map(({ to }) => to)).to.deep.equal([addressOf(user)])
    expect(await count()).to.equal(0)
  })

  it('runs one statement for everybody, so that no time tells an account', async () => {
    const user = await build()
    const connection = identity.deps.orm.em.getDriver().getConnection()
    const { execute } = connection
    const statements: unknown[] = []
    connection.execute = function (this: typeof connection, ...given: Parameters<typeof execute>) {
      statements.push(given[0])
      return execute.apply(this, given)
    } as typeof execute
    for (const body of [{ username: user.username }, { email: addressOf(user) }, { username: 'nobody' }, {}]) {
      await requestRecovery(identity.deps, body)
    }
    connection.execute = execute
    await sendMails(identity)

    expect(statements).to.have.length(4)
    expect(new Set(statements.map((sql) => String(sql).split(' (')[0]))).to.deep.equal(
      new Set(['insert into "recovery_requests"']),
    )
  })

  it('mails a link that chooses a password once, within an hour, and tells of it', async () => {
    const user = await build({}, { language: 'de' })
    await ask({ username: `@${user.username.toUpperCase()}` })
    await sendMails(identity)
    const [mail] = links()
    const outcomes = [await recover(tokenIn(mail!)), await recover(tokenIn(mail!))]
    await sendMails(identity)
    await ask({ username: `${user.username}@here.example` })
    await sendMails(identity)
    identity.clock.advance(hour)
    const late = await recover(tokenIn(links()[1]!))

    expect(mail!.text).to.match(/Neues Passwort wählen:\nhttps:\/\/here\.example\/recover#\d+\.[\w-]{43}\n/)
    expect(outcomes).to.deep.equal([
      [200, null],
      [400, 'recovery_link_invalid'],
    ])
    expect(late).to.deep.equal([400, 'recovery_link_invalid'])
    expect(server.mails.map(({ subject }) => subject)).to.deep.equal([
      'Gatehouse: Setze dein Passwort zurück',
      'Gatehouse: Dein Passwort wurde zurückgesetzt',
      'Gatehouse: Setze dein Passwort zurück',
    ])
  })

  it('ends with a newer link, and asks for the second factor as a login does', async () => {
    const user = await build()
    const app = await turnOn(identity, user)
    await ask({ email: addressOf(user).toUpperCase() })
    await sendMails(identity)
    await ask({ email: addressOf(user) })
    await sendMails(identity)
    const [first, second] = links().map(tokenIn)

    expect(await recover(first!, app.code())).to.deep.equal([400, 'recovery_link_invalid'])
    expect(await recover(second!)).to.deep.equal([401, 'second_factor_required'])
    expect(await recover(second!, '000000')).to.deep.equal([401, 'second_factor_wrong'])
    expect(await recover(second!, app.code())).to.deep.equal([200, null])
  })

  it('goes to each account of an address, and to nobody who may not have it', async () => {
    const address = 'shared@mail.example'
    const named = await build({ username: 'shared' })
    const users = [await build({}, { address }), await build({}, { address }), named]
    await build({ suspendedAt: identity.clock.now() as never }, { address })
    await build({}, { address, confirmed: false })
    await build({ username: 'sue@home.example', homeInstance: 'home.example' }, { address })
    await ask({ email: address, username: '@shared' })
    await sendMails(identity)

    expect(
      links()
        .map((mail) => tokenIn(mail).split('.')[0])
        .toSorted(),
    ).to.deep.equal(users.map(({ id }) => id).toSorted())
  })

  it('cannot fill a mailbox, nor keep a notice from it', async () => {
    const user = await build()
    for (let time = 0; time < 20; time += 1) await ask({ username: user.username })
    await sendMails(identity)
    const body = { currentPassword: testPassword, newPassword }
    await answered(identity.call('POST', '/api/users/@me/change-password', { as: user, body }))
    await sendMails(identity)

    // Each of two links was offered before the first was sent: the newer one is.
    expect(links()).to.have.length(1)
    expect(server.mails).to.have.length(2)
  })

  it('is resolved once while replicas race, with changes of the address too', async () => {
    await using other = await startTestIdentity({ databaseUrl: identity.databaseUrl, config: { mail: mailTo(server) } })
    other.clock.set(identity.clock.now())
    const users = await Promise.all(Array.from({ length: 8 }, () => build()))
    for (const { username } of users) await ask({ username })
    const changed = users.slice(0, 4)
    const change = (as: User) =>
      identity.call('PUT', '/api/users/@me/email', {
        as,
        body: { email: `new${as.id}@mail.example`, password: testPassword },
      })
    await Promise.all([
      ...[identity, other, identity].map(({ deps }) => resolveRecoveryRequests(deps)),
      ...changed.map((user) => answered(change(user))),
    ])
    const em = identity.deps.orm.em.fork()
    const waiting = await em.find(Mail, { kind: 'recovery', nextAt: { $ne: null } })

    expect(new Set(waiting.map(({ userId }) => userId))).to.deep.equal(new Set(users.slice(4).map(({ id }) => id)))
    for (const { id } of changed) expect((await readUser(identity, id)).recoveryHash).to.equal(null)
    expect(await em.count(Email, { userId: changed.map(({ id }) => id), confirmedAt: null })).to.equal(4)
  })
})
