import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { passwordReset } from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { answered, appCode, countLockWaits, eventually, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { createRecoveryLink } from '../src/operations/administration/reset-password.ts'
import { buildStub, buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const newPassword = 'a password of my own'
const day = 24 * 60 * 60 * 1000
const invalid = [400, 'recovery_link_invalid']

/** Contract: 3, recover. */
describe('Recovery by a link', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => {
    identity.hasher.beforeWork = async () => undefined
  })

  const act = (path: string, body?: object) =>
    identity.call('POST', `/api/admin/users/${path}`, { as: admin, ...(body && { body }) })
  const offer = async (user: User): Promise<string> => {
    const { body } = await act(`${user.id}/recovery-link`)
    return new URL(String(body['url'])).hash.slice(1)
  }
  const recover = (token: unknown, password: unknown = newPassword) =>
    identity.call('POST', '/api/auth/recover', { body: { token, newPassword: password } })
  const outcome = async (answer: ReturnType<typeof recover>) => {
    const { status, body } = await answer
    return [status, body['code']]
  }
  const logIn = async (user: User, password: string) =>
    (await identity.call('POST', '/api/auth/login', { body: { username: user.username, password } })).status

  it('changes nothing when it is made, and is shown once: the table has a hash', async () => {
    const user = await buildUser(identity)

    const { status, body } = await act(`${user.id}/recovery-link`)

    const [, id, secret] = /^https:\/\/here\.example\/recover#(\d+)\.([\w-]{43})$/.exec(String(body['url']))!
    const stored = await readUser(identity, user.id)
    expect([status, id, body['expiresAt']]).to.deep.equal([201, user.id, identity.clock.now() + day])
    expect(accountStateOf(stored)).to.deep.equal(accountStateOf(user))
    expect(stored.passwordHash).to.equal(user.passwordHash)
    expect(JSON.stringify([stored, identity.logLines])).to.not.include(secret)
    const { body: audit } = await identity.call('GET', '/api/admin/audit?limit=1', { as: admin })
    expect((audit['entries'] as object[])[0]).to.include({ action: 'user.recovery-link-created', targetId: user.id })
    expect(JSON.stringify(audit)).to.not.include(secret)
  })

  it('is a change of the password: it revokes tokens, closes sockets, says so by the person, and logs in', async () => {
    const user = await buildUser(identity, { passwordChangeRequired: true })
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [passwordReset])
    const token = await offer(user)

    const { status, body } = await recover(token)

    const at = identity.clock.now()
    const stored = await readUser(identity, user.id)
    const cached = await identity.deps.accountStateCache.find(user.id)
    const ended = { passwordChangedAt: at, sessionsEndedAt: at }
    expect(status).to.equal(200)
    expect(body['user']).to.include({ id: user.id, passwordChangeRequired: false, showActivity: true })
    expect(cached).to.include(ended)
    expect(stored).to.include({ ...ended, sessionsEndedByReset: true, recoveryHash: null, recoveryExpiresAt: null })
    const claims = verifyToken(createTokenKey(identity.config.jwtSecret), String(body['token']), at)!
    expect(judgeToken(claims, cached)).to.equal('live')
    expect(judgeToken({ iat: claims.iat - 1 }, cached)).to.equal('revoked')
    const actor = { userId: user.id, username: user.username }
    expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([
      { userId: user.id, at, actor, state: accountStateOf(stored) },
    ])
    expect([await logIn(user, newPassword), await logIn(user, testPassword)]).to.deep.equal([200, 401])
  })

  it('is refused in one way for all that is wrong with it, before a hash is computed', async () => {
    const user = await buildUser(identity)
    const token = await offer(user)
    const [, secret] = token.split('.')
    let hashed = 0
    identity.hasher.beforeWork = async () => void (hashed += 1)
    const wrong = [
      undefined,
      null,
      7,
      '',
      {},
      [token],
      'x',
      `${token}x`,
      `${user.id}.`,
      `.${secret}`,
      `1.${secret}`,
      `9223372036854775808.${secret}`,
      `${user.id}.${'A'.repeat(43)}`,
      `${admin.id}.${secret}`,
      ` ${token}`,
      `0${token}`,
    ]

    for (const given of wrong) expect(await outcome(recover(given)), String(given)).to.deep.equal(invalid)
    expect(await outcome(recover(token, 'short'))).to.deep.equal([400, 'password_too_short'])
    expect(hashed).to.equal(0)
    expect(await outcome(recover(token))).to.deep.equal([200, undefined])
  })

  it('ends after a day, with the newer one, with its use, and with whatever ends the sessions', async () => {
    const later = async (change: (user: User) => Promise<unknown>) => {
      const user = await buildUser(identity)
      const token = await offer(user)
      await change(user)
      return await outcome(recover(token))
    }
    const self = (user: User, path: string, body: object) =>
      answered(identity.call('POST', `/api/users/@me/${path}`, { as: user, body }))

    expect(await later(async () => identity.clock.advance(day - 1))).to.deep.equal([200, undefined])
    expect(await later(async () => identity.clock.advance(day))).to.deep.equal(invalid)
    expect(await later(async (user) => await offer(user))).to.deep.equal(invalid)
    const change = { currentPassword: testPassword, newPassword: 'remembered after all' }
    expect(await later((user) => self(user, 'change-password', change))).to.deep.equal(invalid)
    expect(await later((user) => self(user, 'sessions/end', { password: testPassword }))).to.deep.equal(invalid)
    expect(await later((user) => act(`${user.id}/reset-password`))).to.deep.equal(invalid)
    const suspendAndBack = async (user: User) => {
      await answered(act(`${user.id}/suspend`, {}))
      await answered(act(`${user.id}/unsuspend`))
    }
    expect(await later(suspendAndBack)).to.deep.equal(invalid)
    const remove = (user: User) => answered(identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }))
    expect(await later(remove)).to.deep.equal(invalid)
    const user = await buildUser(identity)
    const token = await offer(user)
    expect(await outcome(recover(token))).to.deep.equal([200, undefined])
    expect(await outcome(recover(token, 'another password'))).to.deep.equal(invalid)
  })

  it('ends with the authority of the admin who made it', async () => {
    const operator = { userId: null, username: 'operator' } as const
    const after = async (change: (maker: User) => Promise<unknown>) => {
      const [maker, user] = [await buildUser(identity, { isAdmin: true }), await buildUser(identity)]
      const { body } = await answered(identity.call('POST', `/api/admin/users/${user.id}/recovery-link`, { as: maker }))
      // What made the link is a token of an earlier second than the change.
      identity.clock.advance(1_000)
      await change(maker)
      return await outcome(recover(new URL(String(body['url'])).hash.slice(1)))
    }
    const patchRole = (isAdmin: boolean) => (maker: User) =>
      answered(identity.call('PATCH', `/api/admin/users/${maker.id}/role`, { as: admin, body: { isAdmin } }))
    const change = { currentPassword: testPassword, newPassword: 'the own one of an admin' }

    expect(await after(async () => undefined)).to.deep.equal([200, undefined])
    expect(await after((maker) => answered(act(`${maker.id}/reset-password`)))).to.deep.equal(invalid)
    expect(await after((maker) => answered(act(`${maker.id}/suspend`, {})))).to.deep.equal(invalid)
    expect(await after(patchRole(false))).to.deep.equal(invalid)
    const changePassword = (as: User) =>
      answered(identity.call('POST', '/api/users/@me/change-password', { as, body: change }))
    expect(await after(changePassword)).to.deep.equal(invalid)
    const remove = (maker: User) => answered(identity.call('DELETE', `/api/admin/users/${maker.id}`, { as: admin }))
    expect(await after(remove)).to.deep.equal(invalid)
    const user = await buildUser(identity)
    const { url } = await createRecoveryLink(identity.deps, { userId: user.id, actor: operator })
    expect(await outcome(recover(new URL(url).hash.slice(1)))).to.deep.equal([200, undefined])
  })

  it('gives no token when its admin loses the role while the new password is hashed', async () => {
    const maker = await buildUser(identity, { isAdmin: true })
    const user = await buildUser(identity)
    const { body } = await answered(identity.call('POST', `/api/admin/users/${user.id}/recovery-link`, { as: maker }))
    identity.hasher.beforeWork = async () => {
      identity.hasher.beforeWork = async () => undefined
      const asAdmin = { as: admin, body: { isAdmin: false } }
      await answered(identity.call('PATCH', `/api/admin/users/${maker.id}/role`, asAdmin))
    }

    expect(await outcome(recover(new URL(String(body['url'])).hash.slice(1)))).to.deep.equal(invalid)
    expect((await readUser(identity, user.id)).passwordHash).to.equal(user.passwordHash)
  })

  it('is made for living local accounts that are not suspended, by admins, also for themselves', async () => {
    const suspended = await buildUser(identity)
    await answered(act(`${suspended.id}/suspend`, {}))
    const targets = [await buildStub(identity), await buildUser(identity, { isDeleted: true }), { id: '1' }, suspended]
    const answers = await Promise.all(targets.map(({ id }) => act(`${id}/recovery-link`)))
    const user = await buildUser(identity)
    const byOther = await identity.call('POST', `/api/admin/users/${user.id}/recovery-link`, { as: user })

    expect(answers.map(({ status, body }) => [status, body['code']])).to.deep.equal([
      [400, 'target_federated'],
      [400, 'target_deleted'],
      [404, 'user_unknown'],
      [409, 'target_suspended'],
    ])
    expect(byOther.status).to.equal(403)
    expect((await act(`${admin.id}/recovery-link`)).status).to.equal(201)
  })

  it('asks for the second factor as a login does, and stays good until its code is right', async () => {
    const user = await buildUser(identity)
    const secret = String(
      (await identity.call('POST', '/api/users/@me/second-factor', { as: user, body: { password: testPassword } }))
        .body['secret'],
    )
    const at = () => identity.clock.now()
    const confirm = { as: user, body: { code: appCode(secret, at()) } }
    await answered(identity.call('POST', '/api/users/@me/second-factor/confirm', confirm))
    const token = await offer(user)
    identity.clock.advance(60_000)
    const recoverWith = (code?: string) => {
      const body = { token, newPassword, ...(code !== undefined && { code }) }
      return outcome(identity.call('POST', '/api/auth/recover', { body }))
    }

    expect(await recoverWith()).to.deep.equal([401, 'second_factor_required'])
    expect(await recoverWith('')).to.deep.equal([401, 'second_factor_required'])
    expect(await recoverWith('000000')).to.deep.equal([401, 'second_factor_wrong'])
    expect((await readUser(identity, user.id)).passwordHash).to.equal(user.passwordHash)
    expect(await recoverWith(appCode(secret, at()))).to.deep.equal([200, undefined])
  })

  it('counts once for sixteen at a time', async () => {
    const user = await buildUser(identity)
    const token = await offer(user)

    const racers = await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        untilAvailable(() => recover(token, `the password of racer ${n}`)).then((answer) => ({ n, answer })),
      ),
    )

    const won = racers.filter(({ answer }) => answer.status === 200)
    expect(won).to.have.length(1)
    for (const { answer } of racers.filter((racer) => racer !== won[0])) {
      expect([answer.status, answer.body['code']]).to.deep.equal(invalid)
    }
    expect(await logIn(user, `the password of racer ${won[0]!.n}`)).to.equal(200)
  })

  it('gives no token when the account is suspended while the new password is hashed', async () => {
    const user = await buildUser(identity)
    const token = await offer(user)
    identity.hasher.beforeWork = async () => {
      identity.hasher.beforeWork = async () => undefined
      await answered(act(`${user.id}/suspend`, {}))
    }

    expect(await outcome(recover(token))).to.deep.equal(invalid)
    expect((await readUser(identity, user.id)).passwordHash).to.equal(user.passwordHash)
  })

  it('waits for a change of the account that is not committed yet', async () => {
    const user = await buildUser(identity)
    const token = await offer(user)
    const change = identity.deps.orm.em.fork()
    await change.begin()
    await change.execute('update users set recovery_hash = null where id = ?', [user.id])

    const recovery = outcome(recover(token))
    await eventually('the recovery waits', () => countLockWaits(identity.deps))
    await change.commit()

    expect(await recovery).to.deep.equal(invalid)
  })
})
