import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { User } from '@gatehouse/domain'
import { countLockWaits, eventually, answered } from '@gatehouse/test-kit'
import { turnOn } from './authenticator.ts'
import { buildStub, buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestResponse, type TestIdentity } from './harness.ts'
import { testPassword, testPasswordHash } from './quick-hasher.ts'

const wrong = 'not the password'
/** Of `testPassword`, at the cost that real accounts have. */
const realHash = bcrypt.hashSync(testPassword, 12)

describe('Login', () => {
  let identity: TestIdentity

  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => {
    identity.hasher.beforeWork = async () => undefined
    identity.hasher.verified = []
  })

  const logIn = async (username: unknown, password: unknown = testPassword): Promise<TestResponse> =>
    await identity.call('POST', '/api/auth/login', { body: { username, password } })
  const costs = () => identity.hasher.verified.map((hash) => bcrypt.getRounds(hash))
  const generic = { error: 'Invalid username or password', statusCode: 401, code: 'invalid_credentials' }

  it('answers with a token and the own view', async () => {
    const user = await buildUser(identity)

    const answer = await logIn(user.username)

    const token = verifyToken(
      createTokenKey(identity.config.jwtSecret),
      String(answer.body['token']),
      identity.clock.now(),
    )
    expect(answer.status).to.equal(200)
    expect(answer.body['user']).to.include({ id: user.id, username: user.username, showActivity: true })
    expect(token).to.include({ userId: user.id, username: user.username, iat: Math.floor(identity.clock.now() / 1000) })
  })

  it('requires both fields, as texts', async () => {
    expect((await logIn(undefined)).status).to.equal(400)
    expect((await logIn('ada', null)).status).to.equal(400)
    expect((await logIn('ada', '')).status).to.equal(400)
    expect((await logIn({ $gt: '' }, 'x')).status).to.equal(400)
    expect((await identity.call('POST', '/api/auth/login', { body: '[]' })).status).to.equal(400)
    expect((await identity.call('POST', '/api/auth/login', { body: '{' })).status).to.equal(400)
  })

  it('Login 1: finds names trimmed and in lower case', async () => {
    await buildUser(identity, { username: 'grace' })

    expect((await logIn('  GRACE ')).status).to.equal(200)
  })

  /** Contract: 1, Names as typed. */
  it('takes the own domain and an @ in front as they are meant, but a name as it stands first', async () => {
    const { domain } = identity.config.publicAddress
    const [local, there] = [await buildUser(identity), await buildUser(identity)]
    const homeInstance = `${domain}:8443`
    const other = await buildUser(identity, { username: `${there.username}@${domain}`, homeInstance })
    const idOf = async (name: string) => ((await logIn(name)).body['user'] as { id: string } | undefined)?.id

    for (const name of [
      `@${local.username}`,
      `${local.username}@${domain}`,
      `@${local.username.toUpperCase()}@${domain}`,
    ])
      expect(await idOf(name), name).to.equal(local.id)
    expect(await idOf(other.username)).to.equal(other.id)
    expect((await logIn(`${local.username}@elsewhere.example`)).body).to.deep.equal(generic)
  })

  /** Contract: 1, Passwords. */
  it('takes a password that another keyboard composes otherwise, and stores the composed one', async () => {
    const typed = 'Cafe\u0301 au lait'
    const username = 'composed'
    const body = { username, password: typed }
    expect((await identity.call('POST', '/api/auth/register', { body })).status).to.equal(201)

    expect((await logIn(username, typed)).status).to.equal(200)
    expect((await logIn(username, typed.normalize('NFC'))).status).to.equal(200)
    expect((await logIn(username, 'Cafe au lait')).status).to.equal(401)
    const [stored] = await identity.deps.orm.em.fork().find(User, { username })
    expect(await bcrypt.compare(typed.normalize('NFC'), stored!.passwordHash)).to.equal(true)
  })

  /** Contract: 1, Unknown names. */
  it('Login 1, 3, 4: a wrong password gets the same answer for the same work, whatever the account is', async () => {
    const [user, suspended, factored] = await Promise.all(
      [{}, { suspendedAt: 1, suspendedReason: 'spam' }, {}].map((given) => buildUser(identity, given)),
    )
    await turnOn(identity, factored!)
    const sql = `update users set password_hash = ? where id in (?, ?, ?)`
    await identity.deps.orm.em.fork().execute(sql, [realHash, user!.id, suspended!.id, factored!.id])
    // Nothing listens at that home.
    const away = { username: 'eve@127.0.0.1', homeInstance: '127.0.0.1', passwordHash: realHash }
    const [stub, federated] = [await buildStub(identity), await buildUser(identity, away)]
    const names = ['unknown_name', ...[user!, suspended!, factored!, stub, federated].map(({ username }) => username)]
    identity.hasher.verified = []

    for (const name of names) {
      const { status, body } = await logIn(name, wrong)
      expect([status, body], name).to.deep.equal([401, generic])
    }

    expect(costs()).to.deep.equal(names.map(() => 12))
    identity.hasher.verified = []
    for (const name of names) expect((await logIn(name, 'f\u00e4lsch oder nicht')).status, name).to.equal(401)
    expect(costs()).to.deep.equal(names.flatMap(() => [12, 12]))
    const right = (await Promise.all([user!, suspended!, factored!].map(({ username }) => logIn(username)))).map(
      ({ body }) => body['code'],
    )
    expect(right).to.deep.equal([undefined, 'account_suspended', 'second_factor_required'])
  })

  it('treats an overlong password as a wrong one, after the same work', async () => {
    const user = await buildUser(identity, { passwordHash: bcrypt.hashSync('x'.repeat(72), 4) })

    const { status, body } = await logIn(user.username, 'x'.repeat(73))

    expect([status, body]).to.deep.equal([401, generic])
    expect(identity.hasher.verified).to.have.length(1)
  })

  it('Login 2: says that an account has been deleted', async () => {
    const gone = await buildUser(identity, { username: '!deleted:99', isDeleted: true })

    const { status, body } = await logIn(gone.username)

    expect([status, body['error']]).to.deep.equal([401, 'This account has been deleted'])
  })

  it('Login 6: leaves the status as it is', async () => {
    const users = [await buildUser(identity, { status: 'online' }), await buildUser(identity)]

    for (const { username } of users) expect((await logIn(username)).status).to.equal(200)

    expect((await readUser(identity, users[0]!.id)).status).to.equal('online')
    expect((await readUser(identity, users[1]!.id)).status).to.equal('offline')
  })

  /** Contract: 3, login. */
  it('gives no token for a password that was changed while it was verified', async () => {
    const user = await buildUser(identity)
    identity.hasher.beforeWork = async () => {
      identity.hasher.beforeWork = async () => undefined
      const body = { currentPassword: testPassword, newPassword: 'quite another one' }
      const change = await identity.call('POST', '/api/users/@me/change-password', { as: user, body })
      expect(change.status).to.equal(200)
    }

    const { status, body } = await logIn(user.username)

    expect([status, body]).to.deep.equal([401, generic])
  })

  it('waits for a password change that is not committed yet', async () => {
    const user = await buildUser(identity)
    const change = identity.deps.orm.em.fork()
    await change.begin()
    await change.execute('update users set password_hash = ?, password_changed_at = 1 where id = ?', [
      '$2b$04$x',
      user.id,
    ])

    const login = logIn(user.username)
    await eventually('the login waits', () => countLockWaits(identity.deps))
    await change.commit()

    expect((await login).status).to.equal(401)
  })

  it('gives no token to an account that was deleted while its password was verified', async () => {
    const user = await buildUser(identity)
    identity.hasher.beforeWork = async () => {
      await identity.deps.orm.em.fork().execute('update users set is_deleted = true where id = ?', [user.id])
    }

    expect((await logIn(user.username)).body['error']).to.equal('This account has been deleted')
  })

  it('counts logins by outcome', async () => {
    await using own = await startTestIdentity()
    const user = await buildUser(own)
    for (const [password, status] of [
      [testPassword, 200],
      [wrong, 401],
    ] as const) {
      await answered(own.call('POST', '/api/auth/login', { body: { username: user.username, password } }), status)
    }

    const { text } = await own.deps.metrics.render()
    expect(text).to.contain('gatehouse_logins_total{outcome="accepted"} 1')
    expect(text).to.contain('gatehouse_logins_total{outcome="invalid_credentials"} 1')
  })

  it('writes no password, hash or token into the log', async () => {
    const user = await buildUser(identity)
    const { body } = await logIn(user.username)
    await logIn(user.username, wrong)

    const log = JSON.stringify(identity.logLines)
    for (const secret of [testPassword, wrong, testPasswordHash, String(body['token'])]) {
      expect(log).to.not.contain(secret)
    }
  })
})
