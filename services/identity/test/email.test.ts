import { Email, Mail, type User } from '@gatehouse/domain'
import { answered, startSmtpServer, type TestSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { hashSecret } from '../src/hashing/hash-secret.ts'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { giveEmail, mailTo, sendMails, tokenIn } from './mail.ts'
import { buildPasswordless, buildTicket } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'

const hour = 60 * 60 * 1000

/** Contract: 3, Mail. */
describe('The email address of an account', () => {
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
  beforeEach(() => void (server.mails.length = 0))

  const set = (as: User, email: unknown, more: object = {}) =>
    identity.call('PUT', '/api/users/@me/email', { as, body: { email, password: testPassword, ...more } })
  const confirm = async (token: unknown) => {
    const { status, body } = await identity.call('POST', '/api/auth/email/confirm', { body: { token } })
    return [status, body['code'] ?? body['success']]
  }
  const selfOf = async (as: User) => (await identity.call('GET', '/api/users/@me', { as })).body
  const stored = async ({ id: userId }: User) => await identity.deps.orm.em.fork().findOne(Email, { userId })
  const sent = () => server.mails.map(({ to, header }) => `${to}: ${header('subject').join()}`)

  it('is confirmed once by the link that it gets, in the language of the person, and stored as a hash', async () => {
    const user = await buildUser(identity)
    const { body } = await answered(set(user, ' Anna@MAIL.example ', { language: 'de' }), 200)
    await sendMails(identity)
    const [mail] = server.mails
    const token = tokenIn(mail!)

    expect(body['email']).to.deep.equal({ address: 'Anna@mail.example', confirmed: false })
    expect(mail!.to).to.equal('Anna@mail.example')
    expect(mail!.text).to.include('E-Mail-Adresse bestätigen:\nhttps://here.example/confirm-email#token=')
    expect(mail!.html).to.include(`href="https://here.example/confirm-email#token=${token}"`)
    expect((await stored(user))?.linkHash).to.equal(hashSecret(token))
    expect((await selfOf(user))['email']).to.deep.equal({ address: 'Anna@mail.example', confirmed: false })
    expect(await confirm(token)).to.deep.equal([200, true])
    expect(await confirm(token)).to.deep.equal([404, 'email_token_invalid'])
    expect((await selfOf(user))['email']).to.deep.equal({ address: 'Anna@mail.example', confirmed: true })
  })

  it('takes no other link: of an earlier request, expired after 24 hours, or anything else', async () => {
    const user = await buildUser(identity)
    await set(user, 'one@mail.example')
    await sendMails(identity)
    await set(user, 'two@mail.example')
    await sendMails(identity)
    const [first, second] = server.mails.map(tokenIn)

    expect(await confirm(first)).to.deep.equal([404, 'email_token_invalid'])
    for (const token of [undefined, null, 7, '', 'x'.repeat(43)])
      expect(await confirm(token)).to.deep.equal([404, 'email_token_invalid'])
    identity.clock.advance(24 * hour)
    expect(await confirm(second)).to.deep.equal([404, 'email_token_invalid'])
    expect((await stored(user))?.confirmedAt).to.equal(null)
  })

  it('wants the password or a ticket, an address, and a local account', async () => {
    const user = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
    const outcomes = async (...answers: ReturnType<typeof set>[]) =>
      (await Promise.all(answers)).map(({ status, body }) => `${status} ${String(body['code'])}`)
    const given = [
      '',
      'anna',
      'anna@',
      '@mail.example',
      'a@b@c.example',
      'anna@mail',
      'anna@1.2.3.4',
      'a b@mail.example',
    ]
    const hostile = [
      'a@mail.example\r\nBcc: b@mail.example',
      '"a"@mail.example',
      'a@mail.example,b@mail.example',
      'a<b@c.example>',
    ]
    const long = [
      `${'a'.repeat(65)}@mail.example`,
      `a@${'b'.repeat(64)}.example`,
      `ü${'a'.repeat(60)}@${'ü.'.repeat(90)}example`,
    ]
    const wrong = [...given, ...hostile, ...long, 7, null]

    expect(new Set(await outcomes(...wrong.map((email) => set(user, email))))).to.deep.equal(
      new Set(['400 email_invalid']),
    )
    expect(await outcomes(set(user, 'a@mail.example', { language: 'fr' }))).to.deep.equal(['400 validation_failed'])
    expect(await outcomes(set(user, 'a@mail.example', { password: 'wrong' }))).to.deep.equal(['403 password_incorrect'])
    expect(await outcomes(set(user, 'a@mail.example', { password: '' }))).to.deep.equal(['400 password_required'])
    expect(await outcomes(set(user, 'a@mail.example', { ticket: 'none' }))).to.deep.equal(['403 ticket_refused'])
    expect(await outcomes(set(federated, 'a@mail.example'))).to.deep.equal(['403 native_account_required'])
    expect(await selfOf(federated)).to.not.have.any.keys('email', 'emailNotices')
    expect(await stored(user)).to.equal(null)
  })

  it('is set and removed with a ticket, which is fresh and used up', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const stale = { authTime: new Date(identity.clock.now() - 5 * 60_000 - 1) }
    const acts: [method: string, body: object][] = [
      ['PUT', { email: 'fresh@mail.example' }],
      ['DELETE', {}],
    ]
    for (const [method, body] of acts) {
      const act = async (ticket: string) => {
        const answer = await identity.call(method, '/api/users/@me/email', { as: user, body: { ...body, ticket } })
        return [answer.status, answer.body['code'] ?? null]
      }
      const ticket = await buildTicket(identity, linked)

      expect(await act('none'), method).to.deep.equal([403, 'ticket_refused'])
      expect(await act(await buildTicket(identity, linked, stale)), method).to.deep.equal([
        403,
        'fresh_sign_in_required',
      ])
      expect(await act(ticket), method).to.deep.equal([200, null])
      expect(await act(ticket), method).to.deep.equal([403, 'ticket_refused'])
    }
    expect(await stored(user)).to.equal(null)
  })

  it('may have letters of any script, before and after the @', async () => {
    const user = await buildUser(identity)
    await answered(set(user, 'jürgen.例え@Bücher.EXAMPLE'), 200)
    await sendMails(identity)

    expect(server.mails.map(({ to }) => to)).to.deep.equal(['jürgen.例え@bücher.example'])
  })

  it('changes with a mail to the old one, ends the links that lead to it, and is private', async () => {
    const [user, admin] = [await buildUser(identity), await buildUser(identity, { isAdmin: true })]
    const address = await giveEmail(identity, user)
    await answered(identity.call('POST', '/api/auth/recover/request', { body: { email: address } }), 202)
    await sendMails(identity)
    const recovery = tokenIn(server.mails[0]!)
    await answered(set(user, 'new@mail.example'), 200)
    await sendMails(identity)
    const body = { token: recovery, newPassword: 'a password of my own' }
    const recovered = await identity.call('POST', '/api/auth/recover', { body })
    const ofOthers = [
      (await identity.call('GET', `/api/users/${user.id}`, { as: admin })).body,
      (await identity.call('GET', '/api/admin/users', { as: admin })).body,
    ]
    const described = (await identity.call('GET', `/api/admin/users/${user.id}`, { as: admin })).body

    expect(sent().slice(1).toSorted()).to.deep.equal(
      [
        'new@mail.example: Gatehouse: Confirm your email address',
        `${address}: Gatehouse: Your email address was changed`,
      ].toSorted(),
    )
    expect(server.mails.find(({ to }) => to === address && !to.startsWith('new'))?.text).to.not.include('new@')
    expect([recovered.status, recovered.body['code']]).to.deep.equal([400, 'recovery_link_invalid'])
    expect(described['email']).to.deep.equal({ address: 'new@mail.example', confirmed: false })
    expect(JSON.stringify([ofOthers, identity.logLines])).to.not.include('mail.example')
  })

  it('is removed with a mail to it, and by the deletion of the account', async () => {
    const [one, other] = [await buildUser(identity), await buildUser(identity)]
    const addresses = [await giveEmail(identity, one), await giveEmail(identity, other)]
    const body = { password: testPassword }
    await answered(identity.call('DELETE', '/api/users/@me/email', { as: one, body }), 200)
    const missing = await identity.call('DELETE', '/api/users/@me/email', { as: one, body: {} })
    const deletion = { as: other, body: { ...body, username: other.username } }
    await answered(identity.call('DELETE', '/api/users/@me', deletion), 200)
    await sendMails(identity)

    expect(missing.status).to.equal(400)
    expect([await stored(one), await stored(other)]).to.deep.equal([null, null])
    expect((await selfOf(one))['email']).to.equal(null)
    expect(sent()).to.have.length(2)
    expect(sent()[0]).to.match(new RegExp(`^${addresses[0]}: Gatehouse: Your email address was removed`))
    expect(sent()[1]).to.match(new RegExp(`^${addresses[1]}: Gatehouse: Your account was deleted`))
    expect(
      await identity.deps.orm.em.fork().count(Mail, { userId: [one.id, other.id], nextAt: { $ne: null } }),
    ).to.equal(0)
  })

  it('gets three links an hour by one account; the one that is confirmed already needs none', async () => {
    const user = await buildUser(identity)
    for (const name of ['a', 'b', 'c']) await answered(set(user, `${name}@mail.example`), 200)
    const { status, body, headers } = await set(user, 'd@mail.example')
    identity.clock.advance(hour)
    await answered(set(user, 'd@mail.example'), 200)
    await sendMails(identity)
    await confirm(tokenIn(server.mails.at(-1)!))
    server.mails.length = 0
    const again = await answered(set(user, 'd@mail.example', { language: 'de' }), 200)
    await sendMails(identity)

    expect([status, body['code'], body['retryAfter'], headers.get('retry-after')]).to.deep.equal([
      429,
      'email_limit',
      3_600,
      '3600',
    ])
    expect(again.body['email']).to.deep.equal({ address: 'd@mail.example', confirmed: true })
    expect((await stored(user))?.language).to.equal('de')
    expect(sent()).to.deep.equal([])
  })

  it('is confirmed by one of many who use the link at once, and never an address that has changed', async () => {
    const user = await buildUser(identity)
    await set(user, 'racer@mail.example')
    await sendMails(identity)
    const token = tokenIn(server.mails[0]!)
    const outcomes = await Promise.all(Array.from({ length: 16 }, () => confirm(token)))

    expect(outcomes.filter(([status]) => status === 200)).to.have.length(1)
  })

  it('is not offered without SMTP_URL: all is as it was', async () => {
    await using plain = await startTestIdentity()
    const user = await buildUser(plain)
    const body = { email: 'a@mail.example', password: testPassword }
    const put = await plain.call('PUT', '/api/users/@me/email', { as: user, body })
    const ask = await plain.call('POST', '/api/auth/recover/request', { body: { email: 'a@mail.example' } })
    const patched = await plain.call('PATCH', '/api/users/@me', { as: user, body: { emailNotices: false } })
    const info = await plain.call('GET', '/api/instance/info')
    const described = await plain.call('GET', `/api/admin/users/${user.id}`, {
      as: await buildUser(plain, { isAdmin: true }),
    })

    expect([put, ask].map((one) => [one.status, one.body['code']])).to.deep.equal([
      [404, 'mail_off'],
      [404, 'mail_off'],
    ])
    expect([patched.status, patched.body]).to.satisfy(([status]: [number]) => status === 200)
    for (const reply of [patched.body, info.body, described.body])
      expect(reply).to.not.have.any.keys('email', 'emailNotices', 'mail')
    expect((await identity.call('GET', '/api/instance/info')).body['mail']).to.equal(true)
    expect((await readUser(plain, user.id)).recoveryHash).to.equal(null)
  })
})
