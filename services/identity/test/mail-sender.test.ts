import { Email, Mail, RecoveryRequest, type User } from '@gatehouse/domain'
import { openMailer } from '@gatehouse/mail'
import { startSmtpServer, type TestSmtpServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { enqueueNotice } from '../src/mail/outbox.ts'
import { sendDueMails } from '../src/mail/send-mails.ts'
import { startRetention } from '../src/operations/retention.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { giveEmail, mailTo, sendMails } from './mail.ts'

const minute = 60_000
const hour = 60 * minute

/** Contract: 3, Mail. */
describe('The sender of mail', () => {
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
  beforeEach(async () => {
    identity.clock.advance(48 * hour)
    await identity.deps.orm.em.fork().nativeDelete(Mail, {})
    Object.assign(server.behaviour, { refuse: () => undefined, hang: false })
    server.mails.length = 0
    identity.logLines.length = 0
  })

  async function tell(user: User, times = 1): Promise<void> {
    const em = identity.deps.orm.em.fork()
    const at = identity.clock.now()
    for (let time = 0; time < times; time += 1) await enqueueNotice(em, { user, kind: 'password_changed', at })
  }
  /** Each to an address of its own. */
  async function enqueueMany(count: number): Promise<void> {
    const user = await buildReader()
    const at = new Date(identity.clock.now())
    await identity.deps.orm.em.fork().execute(
      `insert into mails (user_id, kind, address, key, language, data, created_at, next_at, expires_at)
       select ?, 'password_changed', 'a' || n || '@mail.example', 'a' || n || '@mail.example', 'en', '{"at": 1}', ?, ?, ?
       from generate_series(1, ?) n`,
      [user.id, at, at, new Date(at.getTime() + 24 * hour), count],
    )
  }
  async function buildReader(): Promise<User> {
    const user = await buildUser(identity)
    await giveEmail(identity, user)
    return user
  }
  const waiting = async () => await identity.deps.orm.em.fork().count(Mail, { nextAt: { $ne: null } })
  const emailOf = async ({ id: userId }: User) => await identity.deps.orm.em.fork().findOneOrFail(Email, { userId })
  const metric = async (outcome: string) => {
    const { text } = await identity.deps.metrics.render()
    return Number(new RegExp(`gatehouse_mails_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
  }

  it('writes text and HTML that load nothing and lead only here', async () => {
    const user = await buildReader()
    await tell(user)
    await sendMails(identity)
    const [mail] = server.mails

    expect(mail!.header('from')).to.deep.equal(['Gatehouse <noreply@here.example>'])
    expect(mail!.header('to')).to.deep.equal([`${user.username}@mail.example`])
    expect(mail!.header('message-id')[0]).to.match(/^<[0-9a-f-]{36}@here\.example>$/)
    expect(mail!.header('auto-submitted')).to.deep.equal(['auto-generated'])
    expect(mail!.text).to.include(`The password of ${user.username} was changed on `)
    expect(mail!.html).to.include(`The password of ${user.username} was changed on `)
    expect(mail!.html).to.include('<meta name="color-scheme" content="light dark">')
    expect(mail!.html).to.not.match(/<(img|script|link|iframe)|url\(|@import/)
    const links = [...`${mail!.html}${mail!.text}`.matchAll(/https?:\/\/[^\s"<]+/g)].map(([link]) => link)
    expect(new Set(links)).to.deep.equal(new Set(['https://here.example']))
  })

  it('sends each mail once while replicas race, a thousand too', async () => {
    await using other = await startTestIdentity({ databaseUrl: identity.databaseUrl, config: { mail: mailTo(server) } })
    other.clock.set(identity.clock.now())
    await enqueueMany(1_000)
    await Promise.all([sendMails(identity), sendMails(other), sendMails(identity), sendMails(other)])

    expect(server.mails).to.have.length(1_000)
    expect(new Set(server.mails.map(({ to }) => to))).to.have.property('size', 1_000)
    expect(await waiting()).to.equal(0)
  })

  it('begins a mail each ten milliseconds, so that requests are answered meanwhile', async () => {
    const mail = mailTo(server)
    using mailer = await openMailer(mail)
    await enqueueMany(41)
    const pauses: number[] = []
    await sendDueMails({ ...identity.deps, mailer, mail }, async (ms) => void pauses.push(ms))

    const batchOf = (count: number) => Array.from({ length: count }, (_, place) => place * 10)
    expect(pauses).to.deep.equal([...batchOf(20), ...batchOf(20), ...batchOf(1)])
    expect(server.mails).to.have.length(41)
  })

  it('tries again after a temporary refusal, later each time, with one Message-ID, for a day', async () => {
    const [user, other] = [await buildReader(), await buildReader()]
    const ids: string[] = []
    await tell(user)
    await tell(other)
    server.behaviour.refuse = (to, phase) => {
      if (to.startsWith(other.username)) return [451, '4.7.1 greylisted']
      return phase === 'message' && ids.push('once') === 1 ? [451, '4.3.0 later'] : undefined
    }
    await sendMails(identity)
    expect([server.mails.length, await waiting()]).to.deep.equal([0, 2])
    const { messageId } = await identity.deps.orm.em.fork().findOneOrFail(Mail, { userId: user.id })
    await sendMails(identity)
    expect(server.mails).to.have.length(0)
    identity.clock.advance(minute)
    await sendMails(identity)
    expect(server.mails.map(({ header }) => header('message-id')[0])).to.deep.equal([`<${messageId}@here.example>`])

    let tries = 0
    for (let waited = 0; waited < 25 * hour; waited += 15 * minute) {
      identity.clock.advance(15 * minute)
      await sendMails(identity)
      tries += 1
    }
    const { attempts } = await identity.deps.orm.em.fork().findOneOrFail(Mail, { userId: other.id })
    expect(tries).to.equal(100)
    expect(attempts).to.be.within(90, 98)
    expect([await waiting(), await metric('given_up')]).to.deep.equal([0, 1])
  })

  it('marks an address that is refused for good, says so without it, and lifts the mark when it works', async () => {
    const [user, admin] = [await buildReader(), await buildUser(identity, { isAdmin: true })]
    server.behaviour.refuse = (to) => [550, `5.1.1 <${to}> unknown`]
    await tell(user)
    await sendMails(identity)
    const marked = (await identity.call('GET', `/api/admin/users/${user.id}`, { as: admin })).body['email']
    const self = (await identity.call('GET', '/api/users/@me', { as: user })).body['email']
    const lines = identity.logLines.filter(({ msg }) => String(msg).startsWith('mail '))
    server.behaviour.refuse = () => undefined
    await tell(user)
    await sendMails(identity)

    const address = `${user.username}@mail.example`
    expect([marked, self]).to.deep.equal(Array(2).fill({ address, confirmed: true, bounced: true }))
    expect(lines.map(({ responseCode, enhanced }) => [responseCode, enhanced])).to.deep.equal([[550, '5.1.1']])
    expect(JSON.stringify(identity.logLines)).to.not.include('mail.example')
    expect(await metric('refused')).to.equal(1)
    expect((await emailOf(user)).bouncedAt).to.equal(null)
  })

  it('keeps a mail that it cannot write for another replica, and sends the others', async () => {
    const [unknown, user] = [await buildReader(), await buildReader()]
    for (const one of [unknown, user]) await tell(one)
    const em = identity.deps.orm.em.fork()
    await em.nativeUpdate(Mail, { userId: unknown.id }, { kind: 'of_a_newer_release' })

    await sendMails(identity)

    expect(server.mails.map(({ to }) => to)).to.deep.equal([`${user.username}@mail.example`])
    expect([await waiting(), identity.logLines.some(({ msg }) => msg === 'mail failed')]).to.deep.equal([1, true])
    await em.nativeUpdate(Mail, { userId: unknown.id }, { kind: 'password_changed' })
    identity.clock.advance(hour)
    await sendMails(identity)
    expect([server.mails.length, await waiting()]).to.deep.equal([2, 0])
  })

  it('blames no address for what the server thinks of this instance', async () => {
    const user = await buildReader()
    await tell(user)
    server.behaviour.refuse = () => [550, '5.7.1 relaying denied']
    await sendMails(identity)

    expect([(await emailOf(user)).bouncedAt, await waiting()]).to.deep.equal([null, 0])
  })

  it('waits for a server that is down, loses nothing, and does not try all at each turn', async () => {
    const users = await Promise.all(Array.from({ length: 60 }, buildReader))
    for (const user of users) await tell(user)
    await server.stop()
    await sendMails(identity)
    const count = await identity.deps.orm.em.fork().count(Mail, { attempts: { $gt: 0 } })
    await server.restart()
    identity.clock.advance(minute)
    await sendMails(identity)

    expect(count).to.equal(20)
    expect([server.mails.length, await waiting()]).to.deep.equal([60, 0])
  })

  it('gives a server that hangs up, keeps the mail, and holds nobody up who stops', async () => {
    const user = await buildReader()
    await tell(user)
    server.behaviour.hang = true
    await sendMails(identity, mailTo(server, { attemptMs: 1_000 }))
    const left = await waiting()
    server.behaviour.hang = false
    identity.clock.advance(minute)
    await sendMails(identity)

    expect([left, server.mails.length]).to.deep.equal([1, 1])
  })

  it('repeats what a replica left when it died, under the same Message-ID', async () => {
    await tell(await buildReader())
    const sent: string[] = []
    const dies = {
      send: async ({ messageId }: { messageId: string }) => Promise.reject(new Error(`died ${sent.push(messageId)}`)),
    }
    await sendDueMails({ ...identity.deps, mailer: dies, mail: mailTo(server) }).catch(() => undefined)
    await sendMails(identity)
    expect(server.mails).to.have.length(0)
    identity.clock.advance(3 * minute)
    await sendMails(identity)

    expect(server.mails.map(({ header }) => header('message-id')[0])).to.deep.equal(sent)
  })

  it('sends three an hour to one address, however it is spelled, and the rest later', async () => {
    const [one, other, third] = [await buildUser(identity), await buildUser(identity), await buildReader()]
    await giveEmail(identity, one, { address: 'Same@mail.example' })
    await giveEmail(identity, other, { address: 'same@mail.example' })
    await tell(one, 2)
    await tell(other, 2)
    await tell(third)
    await sendMails(identity)
    const first = server.mails.length
    identity.clock.advance(hour)
    await sendMails(identity)

    expect([first, server.mails.length]).to.deep.equal([4, 5])
  })

  it('sends no more in an hour than the instance may, with any number of replicas', async () => {
    const mail = mailTo(server, { hourlyLimit: 7 })
    for (let count = 0; count < 10; count += 1) await tell(await buildReader())
    await Promise.all([sendMails(identity, mail), sendMails(identity, mail), sendMails(identity, mail)])
    const first = server.mails.length
    identity.clock.advance(hour)
    await sendMails(identity, mail)

    expect([first, server.mails.length]).to.deep.equal([7, 10])
  })

  it('puts nothing that a person writes into a header, nor markup into a page', async () => {
    const evil = 'x\r\nBcc: eve@evil.example\r\n\r\n<img src=https://evil.example/pixel> \u202e'
    const user = await buildReader()
    const em = identity.deps.orm.em.fork()
    const facts = { reason: evil, provider: evil, device: evil, network: evil }
    const hostile = { id: user.id, username: evil }
    for (const kind of ['suspended', 'identity_linked', 'login'] as const) {
      await enqueueNotice(em, { user: hostile, kind, at: identity.clock.now(), data: facts })
    }
    await em.execute('update instance_settings set instance_name = ?', [evil])
    await sendMails(identity)
    await em.execute('update instance_settings set instance_name = ?', ['👩‍👩‍👧‍👦'.repeat(9)])
    await tell(await buildReader())
    await sendMails(identity)
    await em.execute("update instance_settings set instance_name = 'Gatehouse'")

    expect(server.mails).to.have.length(4)
    for (const { to, header, headers, html } of server.mails) {
      expect([header('to'), header('bcc')]).to.deep.equal([[to], []])
      expect(headers).to.not.match(/^Bcc:/im)
      expect(html).to.not.include('<img')
    }
    expect(Buffer.from(server.mails[3]!.html).toString()).to.include('👩‍👩‍👧‍👦👩‍👩‍👧‍👦')
  })

  it('keeps nothing of a mail that is over for longer than its limits need', async () => {
    const user = await buildReader()
    await tell(user)
    await sendMails(identity)
    const em = identity.deps.orm.em.fork()
    const over = await em.findOneOrFail(Mail, { userId: user.id })
    const createdAt = new Date(identity.clock.now())
    await em.insert(RecoveryRequest, { id: '1', asked: { username: 'alice', email: null }, createdAt })
    await tell(user)
    identity.clock.advance(hour + 1)
    await using retention = startRetention({ ...identity.deps, timer: identity.timer })
    await retention.runNow()

    expect([over.data, over.secret, over.nextAt]).to.deep.equal([{}, null, null])
    expect([await em.count(Mail, {}), await waiting(), await em.count(RecoveryRequest, {})]).to.deep.equal([1, 1, 0])
  })
})
