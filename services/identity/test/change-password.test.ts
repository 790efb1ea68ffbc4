import { judgeToken } from '@gatehouse/authority'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { passwordChanged } from '@gatehouse/contracts'
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { accountStateOf, type User } from '@gatehouse/domain'
import { untilAvailable } from '@gatehouse/test-kit'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestResponse, type TestIdentity } from './harness.ts'
import { barrier, testPassword } from './quick-hasher.ts'

const newPassword = 'a better password'

describe('change-password', () => {
  let identity: TestIdentity

  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => void (identity.hasher.beforeWork = async () => undefined))

  const change = async (as: User, body: object): Promise<TestResponse> =>
    await identity.call('POST', '/api/users/@me/change-password', { as, body, headers: { 'x-request-id': 'change-1' } })
  const refusalOf = ({ status, body }: TestResponse) => [status, body['error']]
  const federated = async () =>
    await buildUser(identity, {
      username: `fed_${identity.clock.now()}_${Math.random()}@home`,
      homeInstance: 'home.example',
    })

  it('change-password 1: wants a new password of 8 characters and at most 72 bytes', async () => {
    const user = await buildUser(identity)
    for (const refused of ['1234567', 'x'.repeat(73), 12345678, null, undefined]) {
      expect((await change(user, { currentPassword: testPassword, newPassword: refused })).status).to.equal(400)
    }
  })

  it('change-password 2: wants the current password of a local user, and the right one', async () => {
    const user = await buildUser(identity)

    expect((await change(user, { newPassword })).status).to.equal(400)
    for (const currentPassword of [null, '', 12345678]) {
      expect((await change(user, { newPassword, currentPassword })).status).to.equal(400)
    }
    expect(refusalOf(await change(user, { newPassword, currentPassword: 'wrong' }))).to.deep.equal([
      403,
      'Incorrect password',
    ])
    expect((await readUser(identity, user.id)).stateVersion).to.equal(user.stateVersion)
    expect((await change(user, { newPassword, currentPassword: testPassword })).status).to.equal(200)
  })

  it('change-password 3: wants none of a federated user', async () => {
    for (const currentPassword of [undefined, '', 'wrong', 12345678, {}]) {
      expect((await change(await federated(), { newPassword, currentPassword })).status).to.equal(200)
    }
  })

  it('change-password 4: when it answers, older tokens are revoked everywhere and the fresh one is valid', async () => {
    const user = await buildUser(identity)
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [passwordChanged])
    const olderToken = { iat: Math.floor(identity.clock.now() / 1000) - 1 }

    const { body } = await change(user, { newPassword, currentPassword: testPassword })

    const cached = await identity.deps.accountStateCache.find(user.id)
    const stored = await readUser(identity, user.id)
    const token = verifyToken(createTokenKey(identity.config.jwtSecret), String(body['token']), identity.clock.now())
    expect(judgeToken(olderToken, cached)).to.equal('revoked')
    expect(judgeToken(token!, cached)).to.equal('live')
    expect(stored.passwordChangedAt).to.equal(identity.clock.now())
    expect(await bcrypt.compare(newPassword, stored.passwordHash)).to.equal(true)
    expect(body).to.have.all.keys('token')
    const [event] = await events.ofUser(user.id, 1)
    const tokenIssuedAt = olderToken.iat + 1
    expect(event).to.deep.equal({
      name: 'PasswordChanged',
      payload: { userId: user.id, at: stored.passwordChangedAt, tokenIssuedAt, state: accountStateOf(stored) },
      requestId: 'change-1',
    })
    expect(accountStateOf(stored)).to.include({ version: user.stateVersion + 1, sessionsEndedAt: null })
  })

  it('is of a later second than the change before it, though the clock has gone back since', async () => {
    const ahead = identity.clock.now() + 5_000
    const next = (Math.floor(ahead / 1000) + 1) * 1000
    const user = await buildUser(identity, { passwordChangedAt: ahead })

    const { body } = await identity.call('POST', '/api/users/@me/change-password', {
      as: { id: user.id, username: user.username, tokenIssuedAt: Math.floor(ahead / 1000) },
      body: { newPassword, currentPassword: testPassword },
    })

    const token = verifyToken(createTokenKey(identity.config.jwtSecret), String(body['token']), ahead)
    expect((await readUser(identity, user.id)).passwordChangedAt).to.equal(next)
    expect(token!.iat).to.equal(next / 1000)
  })

  it('succeeds for one of sixteen concurrent requests with the current password, which revokes the tokens of the others', async () => {
    const user = await buildUser(identity)
    const wanted = Array.from({ length: 16 }, (_, index) => `new password ${index}`)
    identity.hasher.beforeWork = barrier(16)

    const answers = await Promise.all(
      wanted.map((newPassword) => untilAvailable(() => change(user, { newPassword, currentPassword: testPassword }))),
    )

    const winners = answers.flatMap(({ status }, index) => (status === 200 ? [wanted[index]!] : []))
    expect(winners).to.have.length(1)
    expect(answers.filter(({ body }) => body['code'] === 'token_revoked')).to.have.length(15)
    expect(await bcrypt.compare(winners[0]!, (await readUser(identity, user.id)).passwordHash)).to.equal(true)
  })

  it('of a federated account revokes the token of another that began before', async () => {
    const user = await federated()
    identity.hasher.beforeWork = async () => {
      identity.hasher.beforeWork = async () => undefined
      expect((await change(user, { newPassword: 'the other change' })).status).to.equal(200)
    }

    expect((await change(user, { newPassword })).body).to.include({ code: 'token_revoked' })
    expect(await bcrypt.compare('the other change', (await readUser(identity, user.id)).passwordHash)).to.equal(true)
  })

  /** Contract: 3, change-password. */
  it('succeeds only over the password that stood when it began, also where an earlier release changed it in the second of the token', async () => {
    const [remote, local] = [await federated(), await buildUser(identity)]
    identity.hasher.beforeWork = async (kind) => {
      if (kind === 'verify') return
      const sql = `update users set password_hash = 'another', password_changed_at = ? where id in (?, ?)`
      await identity.deps.orm.em.fork().execute(sql, [identity.clock.now(), remote.id, local.id])
    }

    const { status, body } = await change(remote, { newPassword })
    expect([status, body['code']]).to.deep.equal([409, 'password_changed_meanwhile'])
    const answer = await change(local, { newPassword, currentPassword: testPassword })
    expect(refusalOf(answer)).to.deep.equal([403, 'Incorrect password'])
    expect((await readUser(identity, local.id)).passwordHash).to.equal('another')
  })

  it('refuses accounts that have been deleted, also while it hashes', async () => {
    const gone = await buildUser(identity, { isDeleted: true })
    const going = await buildUser(identity)
    expect((await change(gone, { newPassword, currentPassword: testPassword })).status).to.equal(401)
    identity.hasher.beforeWork = async () => {
      await identity.deps.orm.em.fork().execute('update users set is_deleted = true where id = ?', [going.id])
    }

    expect((await change(going, { newPassword, currentPassword: testPassword })).status).to.equal(401)
  })

  it('needs a signed-in caller', async () => {
    const body = { newPassword, currentPassword: testPassword }

    expect((await identity.call('POST', '/api/users/@me/change-password', { body })).status).to.equal(401)
  })
})

describe('verify-password', () => {
  /** Contract: 3, verify-password. */
  it('answers whether a password is the own one by the local hash', async () => {
    await using identity = await startTestIdentity()
    const user = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'may@home.example', homeInstance: 'home.example' })
    const verify = async (as: User, password: unknown) => {
      const { status, body } = await identity.call('POST', '/api/users/@me/verify-password', { as, body: { password } })
      return status === 200 ? body : status
    }

    expect(await verify(user, testPassword)).to.deep.equal({ valid: true })
    expect(await verify(user, 'wrong')).to.deep.equal({ valid: false })
    expect(await verify(user, 'x'.repeat(73))).to.deep.equal({ valid: false })
    expect(await verify(user, undefined)).to.equal(400)
    expect(await verify(federated, testPassword)).to.deep.equal({ valid: true })
    expect(await verify(federated, 'wrong')).to.deep.equal({ valid: false })
  })
})
