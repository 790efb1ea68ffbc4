import { expect } from 'chai'
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { sessionsEnded } from '@gatehouse/contracts'
import { User, accountStateOf, type RevocationTime } from '@gatehouse/domain'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { answered } from '@gatehouse/test-kit'

describe('POST /api/users/@me/sessions/end', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const end = (as: User, body?: object) =>
    identity.call('POST', '/api/users/@me/sessions/end', { as, ...(body && { body }) })
  const claimsOf = (token: unknown) =>
    verifyToken(createTokenKey(identity.config.jwtSecret), String(token), identity.clock.now())!

  it('when it answers, earlier tokens are revoked everywhere, the password stays, and the fresh token is live', async () => {
    const user = await buildUser(identity)
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [sessionsEnded])
    const earlier = { iat: Math.floor(identity.clock.now() / 1000) - 1 }

    const { status, body } = await end(user, { password: testPassword })

    const cached = await identity.deps.accountStateCache.find(user.id)
    const stored = await readUser(identity, user.id)
    expect([status, Object.keys(body)]).to.deep.equal([200, ['token']])
    expect(judgeToken(earlier, cached)).to.equal('revoked')
    expect(judgeToken(claimsOf(body['token']), cached)).to.equal('live')
    const at = identity.clock.now()
    const ended = { passwordChangedAt: at, sessionsEndedAt: at, sessionsEndedByReset: false }
    expect(stored).to.include({ passwordHash: user.passwordHash, ...ended })
    const actor = { userId: user.id, username: user.username }
    expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([
      { userId: user.id, at, actor, state: accountStateOf(stored) },
    ])
  })

  /** Contract: 3, Confirmation by password. */
  it('wants the password of a local account: missing 400, wrong 403; of a federated one nothing', async () => {
    const user = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'may@home.example', homeInstance: 'home.example' })

    for (const body of [undefined, {}, { password: '' }, { password: null }, { password: 7 }]) {
      expect((await end(user, body)).status).to.equal(400)
    }
    expect((await end(user, { password: 'wrong' })).status).to.equal(403)
    expect((await readUser(identity, user.id)).stateVersion).to.equal(1)
    expect((await end(federated)).status).to.equal(200)
    expect((await identity.call('POST', '/api/users/@me/sessions/end')).status).to.equal(401)
  })
})

describe('passwordChangeRequired', () => {
  /** Contract: 2, Self view. */
  it("stands from an admin's reset until the person has chosen a password, for the own eyes only", async () => {
    await using identity = await startTestIdentity()
    const admin = await buildUser(identity, { isAdmin: true })
    const user = await buildUser(identity)
    const flag = async (as: User) =>
      (await identity.call('GET', `/api/users/${user.id}`, { as })).body['passwordChangeRequired']
    expect(await flag(user)).to.equal(false)

    const reset = await identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })
    expect([await flag(user), await flag(admin)]).to.deep.equal([true, undefined])
    const body = { currentPassword: reset.body['temporaryPassword'], newPassword: 'a better password' }
    expect((await readUser(identity, user.id)).sessionsEndedByReset).to.equal(true)
    await answered(identity.call('POST', '/api/users/@me/change-password', { as: user, body }))

    expect(await flag(user)).to.equal(false)
  })

  it('ends with the return of a detached account to its home, where passwords are chosen from then on', async () => {
    await using identity = await startTestIdentity()
    const built = await buildUser(identity, { username: 'may@home.example', homeInstance: 'home.example' })
    const em = identity.deps.orm.em.fork()
    const user = await em.findOneOrFail(User, { id: built.id })
    user.detachFromHome()
    user.resetPassword('a temporary hash', identity.clock.now() as RevocationTime)
    expect(user.passwordChangeRequired).to.equal(true)

    user.reattachToHome({ homeUserId: '7', username: 'may@home.example' })
    await em.flush()

    expect((await readUser(identity, user.id)).passwordChangeRequired).to.equal(false)
  })
})
