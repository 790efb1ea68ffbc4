import { createHmac } from 'node:crypto'
import { encrypt, secondFactorContext } from '@gatehouse/auth'
import { nextId } from '@gatehouse/database'
import { LinkedIdentity, Passkey, ProviderTicket, SecondFactor, type User } from '@gatehouse/domain'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { buildPasswordless, buildTicket, countTickets, linkIdentity } from './provider-builders.ts'
import { testPassword } from './quick-hasher.ts'

const minute = 60_000
const newPassword = 'a better password'
const self = '/api/users/@me'

const answerOf = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
const refused = [403, 'ticket_refused']
const notFresh = [403, 'fresh_sign_in_required']

async function buildPasskey({ deps }: TestIdentity, { id: userId }: User): Promise<string> {
  const em = deps.orm.em.fork()
  const id = await nextId(em)
  const createdAt = new Date(deps.clock.now())
  await em.insert(Passkey, {
    id,
    userId,
    credentialId: `key ${id}`,
    publicKey: '',
    counter: 0,
    name: 'phone',
    createdAt,
  })
  return id
}

/** Gives a recovery code of a second factor that is on. */
async function turnOnSecondFactor(
  { deps }: TestIdentity,
  { id: userId }: User,
  codes: readonly string[],
): Promise<void> {
  const secret = Buffer.alloc(20, 1)
  const hashOf = (code: string) => createHmac('sha256', secret).update(`recovery code ${code}`).digest('base64url')
  const now = new Date(deps.clock.now())
  const em = deps.orm.em.fork()
  await em.insert(SecondFactor, {
    userId,
    createdAt: now,
    confirmedAt: now,
    recoveryCodes: codes.map(hashOf),
    failures: [],
    secret: encrypt(deps.encryptionKey, secret.toString('base64url'), secondFactorContext(userId)),
  })
  await em.execute('update users set second_factor = true where id = ?', [userId])
}

/** Contract: 3, Identity providers. */
describe('A ticket in place of the own password', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const endSessions = (as: User, ticket: unknown) =>
    identity.call('POST', `${self}/sessions/end`, { as, body: { ticket } })
  const readSelf = async (as: User) => (await identity.call('GET', self, { as })).body

  /** Each act that the password confirms, of three accounts: two have a second factor. */
  async function buildActs() {
    const { user, linked } = await buildPasswordless(identity)
    const [other, third] = [await buildPasswordless(identity), await buildPasswordless(identity)]
    const [keyId, further] = [await buildPasskey(identity, user), await linkIdentity(identity, user)]
    for (const one of [user, third.user]) await turnOnSecondFactor(identity, one, ['aaaaa22222'])
    const acts: [method: string, path: string, as: User, body: object][] = [
      ['POST', `${self}/export`, user, {}],
      ['POST', `${self}/second-factor/recovery-codes`, user, { code: 'aaaaa22222' }],
      ['DELETE', `${self}/second-factor`, third.user, { code: 'aaaaa22222' }],
      ['POST', `${self}/passkeys/options`, user, {}],
      ['DELETE', `${self}/passkeys/${keyId}`, user, {}],
      ['DELETE', `${self}/identities/${further.id}`, user, {}],
      ['POST', `${self}/sessions/end`, user, {}],
      ['POST', `${self}/second-factor`, other.user, {}],
      ['POST', `${self}/change-password`, user, { newPassword }],
      ['DELETE', self, other.user, { username: other.user.username }],
    ]
    return acts.map(([method, path, as, body]) => ({
      name: `${method} ${path}`,
      as,
      linked: [linked, other.linked, third.linked].find(({ userId }) => userId === as.id)!,
      act: (given: object) => identity.call(method, path, { as, body: { ...body, ...given } }),
    }))
  }

  it('confirms each act that the password confirms, once, and confirms none unless it is fresh and their own', async () => {
    for (const { name, as, linked, act } of await buildActs()) {
      identity.clock.advance(2_000)
      const authTime = new Date(identity.clock.now() - 5 * minute - 1)
      const stale = await buildTicket(identity, linked, { authTime })
      expect(answerOf(await act({ ticket: stale })), name).to.deep.equal(notFresh)
      expect(answerOf(await act({ ticket: 'unknown' })), name).to.deep.equal(refused)
      expect((await act({})).status, name).to.be.oneOf([400, 403])
      await identity.deps.orm.em.fork().nativeDelete(ProviderTicket, { userId: as.id })
      const ticket = await buildTicket(identity, linked)

      expect((await act({ ticket })).status, name).to.equal(200)
      expect(await countTickets(identity, { userId: as.id }), name).to.equal(0)
    }
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    expect((await endSessions(user, ticket)).status).to.equal(200)
    expect(answerOf(await endSessions(user, ticket))).to.deep.equal(refused)
  })

  /** Contract: 3, verify-password. */
  it('is judged by verify-password, which uses none up', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const verify = (body: object) => identity.call('POST', `${self}/verify-password`, { as: user, body })
    const ticket = await buildTicket(identity, linked)
    const stale = await buildTicket(identity, linked, { authTime: new Date(identity.clock.now() - 5 * minute - 1) })
    const ofLogin = await buildTicket(identity, linked, { purpose: 'login' })

    const twice = [await verify({ ticket }), await verify({ ticket, password: 'any' })]

    expect(twice.map(({ body }) => body)).to.deep.equal(Array(2).fill({ valid: true }))
    expect(answerOf(await verify({ ticket: stale }))).to.deep.equal(notFresh)
    for (const wrong of ['unknown', ofLogin, 7])
      expect(answerOf(await verify({ ticket: wrong }))).to.deep.equal(refused)
    expect(answerOf(await verify({ ticket: null }))).to.deep.equal([400, 'password_required'])
    expect((await verify({ password: testPassword })).body).to.deep.equal({ valid: false })
    expect((await endSessions(user, ticket)).status).to.equal(200)
    expect(answerOf(await endSessions(user, ticket))[0]).to.be.oneOf([401, 403])
  })

  it('is not used up by an act that fails', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)

    const absent = await identity.call('DELETE', `${self}/passkeys/7`, { as: user, body: { ticket } })
    const misnamed = await identity.call('DELETE', self, { as: user, body: { username: 'somebody', ticket } })

    expect([answerOf(absent)[0], answerOf(misnamed)[0]]).to.deep.equal([404, 400])
    expect((await endSessions(user, ticket)).status).to.equal(200)
  })

  it('lets one of sixteen acts at once win', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    const begin = () => identity.call('POST', `${self}/passkeys/options`, { as: user, body: { ticket } })

    const answers = await Promise.all(Array.from({ length: 16 }, begin))

    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    // A busy account lets some wait, and then refuses them.
    expect(['ticket_refused', 'unavailable', null]).to.include.members(answers.map((answer) => answerOf(answer)[1]))
  })

  it('is refused of another account, purpose or time, and without a fresh sign-in with an identity that is linked', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const { linked: foreign } = await buildPasswordless(identity)
    const ago = (ms: number) => new Date(identity.clock.now() - ms)
    const wrong: [expected: unknown[], ticket: unknown][] = [
      [refused, 'unknown'],
      [refused, 7],
      [refused, await buildTicket(identity, foreign)],
      [refused, await buildTicket(identity, linked, { purpose: 'login' })],
      [refused, await buildTicket(identity, linked, { purpose: 'link' })],
      [refused, await buildTicket(identity, linked, { userId: null })],
      [notFresh, await buildTicket(identity, foreign, { userId: user.id })],
      [notFresh, await buildTicket(identity, linked, { issuer: 'https://other.example' })],
      [notFresh, await buildTicket(identity, linked, { authTime: null })],
      [notFresh, await buildTicket(identity, linked, { authTime: ago(5 * minute + 1) })],
    ]
    for (const [expected, ticket] of wrong) expect(answerOf(await endSessions(user, ticket))).to.deep.equal(expected)
    const late = await buildTicket(identity, linked)
    identity.clock.advance(2 * minute)
    expect(answerOf(await endSessions(user, late))).to.deep.equal(refused)
    expect((await readUser(identity, user.id)).stateVersion).to.equal(user.stateVersion)

    const right = await buildTicket(identity, linked, { authTime: ago(5 * minute - 1_000) })
    expect((await endSessions(user, right)).status).to.equal(200)
  })

  it('change-password with it gives an account without a password its first one', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    const change = (body: object) =>
      identity.call('POST', `${self}/change-password`, { as: user, body: { newPassword, ...body } })
    expect((await readSelf(user))['hasPassword']).to.equal(false)
    expect(answerOf(await change({ currentPassword: '!' }))).to.deep.equal([403, 'current_password_incorrect'])

    expect((await change({ ticket })).status).to.equal(200)

    identity.clock.advance(1_000)
    expect((await readSelf(user))['hasPassword']).to.equal(true)
    expect(await bcrypt.compare(newPassword, (await readUser(identity, user.id)).passwordHash)).to.equal(true)
  })

  it('what revokes the tokens of an account ends its sign-ins that are not finished, and no others', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const { linked: foreign } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    const ofLogin = { purpose: 'login', userId: null } as const
    for (const one of [linked, foreign]) await buildTicket(identity, one, ofLogin)

    expect((await endSessions(user, ticket)).status).to.equal(200)

    expect(await countTickets(identity, { subject: linked.subject })).to.equal(0)
    expect(await countTickets(identity, { subject: foreign.subject })).to.equal(1)
  })
})

/** Contract: 3, Identity providers. */
describe('Accounts without a password', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const logIn = (username: string, password: string, at = identity) =>
    at.call('POST', '/api/auth/login', { body: { username, password } })
  const identitiesOf = (user: User) => identity.deps.orm.em.fork().count(LinkedIdentity, { userId: user.id })

  it('a login is answered as an unknown name, after the same work', async () => {
    const { user } = await buildPasswordless(identity)
    identity.hasher.verified = []

    const answers = [await logIn(user.username, testPassword), await logIn('nobody', testPassword)]

    expect(answers.map(answerOf)).to.deep.equal(Array(2).fill([401, 'invalid_credentials']))
    const [compared, ...others] = identity.hasher.verified
    expect(others).to.deep.equal([compared])
    expect(compared).to.match(/^\$2b\$12\$/)
  })

  it('an admin sees identities, and gives a password by a reset, which keeps the identities', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const { user, linked } = await buildPasswordless(identity)
    const describe = async () => (await identity.call('GET', `/api/admin/users/${user.id}`, { as: admin })).body
    const { id, linkedAt } = linked
    const shown = { id, provider: 'login', name: 'Ada L.', linkedAt: linkedAt.getTime(), lastUsedAt: null }
    expect(await describe()).to.deep.include({ identities: [shown] })
    expect((await describe())['user']).to.include({ hasPassword: false })

    const { body } = await identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })

    expect((await describe())['user']).to.include({ hasPassword: true })
    expect((await logIn(user.username, String(body['temporaryPassword']))).status).to.equal(200)
    expect(await identitiesOf(user)).to.equal(1)
  })

  it('a reset of an account with a password removes its identities: who had the old one may have linked them', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const [user, other] = [await buildUser(identity), await buildUser(identity)]
    for (const one of [user, other]) await linkIdentity(identity, one)

    expect((await identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })).status).to.equal(
      200,
    )

    expect([await identitiesOf(user), await identitiesOf(other)]).to.deep.equal([0, 1])
  })

  it('a deletion leaves neither identities nor sign-ins that are not finished', async () => {
    const { user, linked } = await buildPasswordless(identity)
    const ticket = await buildTicket(identity, linked)
    await buildTicket(identity, linked, { purpose: 'login', userId: null })

    const deletion = { as: user, body: { username: user.username, ticket } }
    expect((await identity.call('DELETE', self, deletion)).status).to.equal(200)

    expect([await identitiesOf(user), await countTickets(identity, { subject: linked.subject })]).to.deep.equal([0, 0])
  })
})

/** Contract: 8, PASSWORDS. */
describe('PASSWORDS=false', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity({ config: { passwords: false } })))
  after(async () => await identity[Symbol.asyncDispose]())

  const logIn = (username: string, password: string) =>
    identity.call('POST', '/api/auth/login', { body: { username, password } })

  it('local logins by password are refused as wrong ones, after the same work; those of other instances go on', async () => {
    const user = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'may@home.example', homeInstance: 'home.example' })
    identity.hasher.verified = []

    const answers = [await logIn(user.username, testPassword), await logIn(user.username, 'wrong password')]

    expect(answers.map(answerOf)).to.deep.equal(Array(2).fill([401, 'invalid_credentials']))
    expect(identity.hasher.verified).to.deep.equal(Array(2).fill(user.passwordHash))
    expect((await logIn(federated.username, testPassword)).status).to.equal(200)
  })

  it('a local account with a password is not created; one of another instance is', async () => {
    const register = (fields: object) =>
      identity.call('POST', '/api/auth/register', { body: { username: 'newcomer', password: testPassword, ...fields } })
    const local = await register({})
    const federated = await register({ username: 'newcomer@home.example', homeInstance: 'home.example' })

    expect(answerOf(local)).to.deep.equal([403, 'registration_by_password_closed'])
    expect(federated.status).to.equal(201)
  })

  it('the last passkey stays while there is no identity: a password is no way in', async () => {
    const user = await buildUser(identity)
    const id = await buildPasskey(identity, user)
    const remove = () =>
      identity.call('DELETE', `${self}/passkeys/${id}`, { as: user, body: { password: testPassword } })
    expect(answerOf(await remove())).to.deep.equal([409, 'last_sign_in_method'])
    expect(await identity.deps.orm.em.fork().count(Passkey, { userId: user.id })).to.equal(1)

    await linkIdentity(identity, user)
    expect((await remove()).status).to.equal(200)
  })

  it('a reset leaves identities, which are the ways in', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const user = await buildUser(identity)
    await linkIdentity(identity, user)

    expect((await identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })).status).to.equal(
      200,
    )
    expect(await identity.deps.orm.em.fork().count(LinkedIdentity, { userId: user.id })).to.equal(1)
  })
})
