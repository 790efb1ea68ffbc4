import { Mail, type User } from '@gatehouse/domain'
import { answered, startSmtpServer, type TestSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { turnOn } from './authenticator.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { giveEmail, mailTo, sendMails } from './mail.ts'
import { buildTicket, issuer, linkIdentity } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'
import { createAuthenticator } from './software-authenticator.ts'

const day = 24 * 60 * 60 * 1000
const newPassword = 'a password of my own'
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'

/** Contract: 3, Mail. */
describe('Notices by mail', () => {
  let server: TestSmtpServer
  let identity: TestIdentity
  let admin: User
  before(async () => {
    server = await startSmtpServer()
    identity = await startTestIdentity({ config: { mail: mailTo(server) } })
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => {
    await identity[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })
  beforeEach(() => void (server.mails.length = 0))

  const own = (method: string, path: string, as: User, body: object) =>
    answered(identity.call(method, `/api/users/@me${path}`, { as, body }))
  const act = (method: string, path: string, body?: object) =>
    answered(identity.call(method, `/api/admin/users/${path}`, { as: admin, ...(body && { body }) }))
  const password = testPassword
  const addPasskey = async (as: User) => {
    const options = (await own('POST', '/passkeys/options', as, { password })).body
    return await own('POST', '/passkeys', as, { name: 'phone', response: createAuthenticator().create(options) })
  }

  const acts: Record<string, (user: User) => Promise<unknown>> = {
    'Your password was changed': (user) =>
      own('POST', '/change-password', user, { currentPassword: password, newPassword }),
    'Your password was reset': async (user) => {
      const { body } = await act('POST', `${user.id}/recovery-link`)
      const token = new URL(String(body['url'])).hash.slice(1)
      return await answered(identity.call('POST', '/api/auth/recover', { body: { token, newPassword } }))
    },
    'An admin reset your password': (user) => act('POST', `${user.id}/reset-password`),
    'Two-factor authentication is on': (user) => turnOn(identity, user),
    'A passkey was added': (user) => addPasskey(user),
    'An account was linked': async (user) => {
      const signedIn = { userId: user.id, provider: 'login', issuer, subject: `of ${user.id}` }
      const ticket = await buildTicket(identity, signedIn, { purpose: 'link' })
      const body = { ticket, password }
      return await answered(identity.call('POST', '/api/auth/providers/finish', { as: user, body }))
    },
    'Your account is suspended': async (user) => {
      const suspend = (reason: string) => act('POST', `${user.id}/suspend`, { reason })
      await suspend('spam')
      await suspend('more spam')
    },
    'Your account was deleted': (user) => act('DELETE', user.id),
  }
  const undone: Record<string, (user: User) => Promise<() => Promise<unknown>>> = {
    'Two-factor authentication is off': async (user) => {
      const { code } = await turnOn(identity, user)
      return () => own('DELETE', '/second-factor', user, { password, code: code() })
    },
    'A passkey was removed': async (user) => {
      const { body } = await addPasskey(user)
      return () => own('DELETE', `/passkeys/${String(body['id'])}`, user, { password })
    },
    'An account was unlinked': async (user) => {
      const { id } = await linkIdentity(identity, user)
      return () => own('DELETE', `/identities/${id}`, user, { password })
    },
  }
  const subjects = () => server.mails.map(({ to, header }) => [to, header('subject')[0]])

  for (const [subject, doing] of Object.entries(acts)) {
    it(`tell exactly once: ${subject}`, async () => {
      const [user, silent] = [await buildUser(identity), await buildUser(identity)]
      const address = await giveEmail(identity, user)
      await giveEmail(identity, silent, { confirmed: false })
      await doing(user)
      await doing(silent)
      await sendMails(identity)

      expect(subjects()).to.deep.equal([[address, `Gatehouse: ${subject}`]])
      expect(server.mails[0]!.text).to.include(user.username)
    })
  }

  for (const [subject, prepare] of Object.entries(undone)) {
    it(`tell exactly once: ${subject}`, async () => {
      const user = await buildUser(identity)
      const undo = await prepare(user)
      const address = await giveEmail(identity, user)
      await undo()
      await sendMails(identity)

      expect(subjects()).to.deep.equal([[address, `Gatehouse: ${subject}`]])
    })
  }

  it('tell nothing of what was refused', async () => {
    const user = await buildUser(identity)
    await giveEmail(identity, user)
    const body = { currentPassword: 'wrong', newPassword }
    const refused = await identity.call('POST', '/api/users/@me/change-password', { as: user, body })
    await sendMails(identity)

    expect([refused.status, server.mails]).to.deep.equal([403, []])
  })

  describe('of logins', () => {
    const logIn = (user: User, agent: string) =>
      answered(
        identity.call('POST', '/api/auth/login', {
          body: { username: user.username, password },
          headers: { 'user-agent': agent },
        }),
      )
    const told = async ({ id: userId }: User) =>
      await identity.deps.orm.em.fork().count(Mail, { userId, kind: 'login' })

    it('name a client that was not seen for 30 days, in the language of the person', async () => {
      const user = await buildUser(identity)
      await giveEmail(identity, user, { language: 'de' })
      await logIn(user, firefox)
      await sendMails(identity)
      const counts = [await told(user)]
      for (const agent of [firefox, safari, safari, firefox]) {
        await logIn(user, agent)
        counts.push(await told(user))
      }
      identity.clock.advance(30 * day)
      await logIn(user, safari)
      counts.push(await told(user))

      expect(counts).to.deep.equal([1, 1, 2, 2, 2, 3])
      const { text, header } = server.mails[0]!
      expect(header('subject')).to.deep.equal(['Gatehouse: Neue Anmeldung'])
      expect(text).to.include('Gerät: Firefox').and.include('Netz: ')
    })

    it('can be turned off, which is kept without an address too', async () => {
      const user = await buildUser(identity)
      const before = (await identity.call('GET', '/api/users/@me', { as: user })).body['emailNotices']
      const patch = (body: object) => own('PATCH', '', user, body)
      const setEmail = (email: string) => own('PUT', '/email', user, { email, password })
      const patched = await patch({ emailNotices: false })
      await setEmail('me@mail.example')
      await identity.deps.orm.em.fork().execute('update emails set confirmed_at = now() where user_id = ?', [user.id])
      await logIn(user, firefox)
      const silent = await told(user)
      await patch({ emailNotices: true, bio: 'hello' })
      await logIn(user, safari)

      expect([before, patched.body['emailNotices'], silent, await told(user)]).to.deep.equal([true, false, 0, 1])
      const wrong = await identity.call('PATCH', '/api/users/@me', { as: user, body: { emailNotices: 'no' } })
      expect([wrong.status, wrong.body['code']]).to.deep.equal([400, 'validation_failed'])
    })
  })
})
