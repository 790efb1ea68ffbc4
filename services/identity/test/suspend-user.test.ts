import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { userSuspended, userUnsuspended } from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { answered, countLockWaits, eventually, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildInvite, buildStub, buildUser, cacheState, collectEvents, readUser, setGates } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

/** Contract: 5, suspend. */
describe('Suspension', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { username: 'the_admin', isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => {
    identity.hasher.beforeWork = async () => undefined
  })

  const suspend = (user: Pick<User, 'id'>, body?: object, as: User = admin) =>
    identity.call('POST', `/api/admin/users/${user.id}/suspend`, { as, ...(body && { body }) })
  const unsuspend = (user: Pick<User, 'id'>) =>
    identity.call('POST', `/api/admin/users/${user.id}/unsuspend`, { as: admin })
  const logIn = (user: User, password: string = testPassword) =>
    identity.call('POST', '/api/auth/login', { body: { username: user.username, password } })
  const claimsOf = (answer: TestResponse) =>
    verifyToken(createTokenKey(identity.config.jwtSecret), String(answer.body['token']), identity.clock.now())!
  const auditOf = async (user: User) => {
    const { body } = await identity.call('GET', '/api/admin/audit', { as: admin })
    return (body['entries'] as { action: string; targetId: string; detail: object }[])
      .filter(({ targetId }) => targetId === user.id)
      .map(({ action, detail }) => ({ action, detail }))
  }

  it('revokes every token before it answers, those of the second in which it was asked for too, and says so in an event and the audit log', async () => {
    const user = await buildUser(identity)
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [userSuspended])
    const token = claimsOf(await logIn(user))
    const asked = identity.clock.now()
    expect(judgeToken(token, accountStateOf(user))).to.equal('live')

    const { status, body } = await suspend(user, { reason: ' spam\nand worse ' })

    const cached = await identity.deps.accountStateCache.find(user.id)
    const at = identity.clock.now()
    expect(token.iat).to.equal(Math.floor(asked / 1000))
    expect(at).to.equal((token.iat + 1) * 1000)
    expect(judgeToken(token, cached)).to.equal('revoked')
    expect([status, body['suspendedAt'], body['suspendedReason']]).to.deep.equal([200, at, 'spam\nand worse'])
    expect(cached).to.include({ passwordChangedAt: at, sessionsEndedAt: at })
    const reason = 'spam\nand worse'
    const actor = { userId: admin.id, username: admin.username }
    const state = accountStateOf(await readUser(identity, user.id))
    expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([
      { userId: user.id, at, actor, reason, state },
    ])
    expect(await auditOf(user)).to.deep.equal([{ action: 'user.suspended', detail: { reason } }])
  })

  it('needs no body, and refuses a reason that is too long', async () => {
    const user = await buildUser(identity)

    expect((await suspend(user, { reason: 'x'.repeat(501) })).status).to.equal(400)
    expect((await logIn(user)).status).to.equal(200)
    expect((await suspend(user)).body).to.include({ suspendedReason: null })
  })

  it('while it lasts refuses the right password with the reason, a wrong one as ever, for the same work', async () => {
    const user = await buildUser(identity)
    const other = await buildUser(identity)
    await answered(suspend(user, { reason: 'spam' }))
    identity.hasher.verified = []

    const right = await logIn(user)
    const wrong = await logIn(user, 'a wrong password')
    const elsewhere = await logIn(other, 'a wrong password')

    expect(right.status).to.equal(403)
    expect(right.body).to.deep.equal({
      error: 'This account is suspended',
      statusCode: 403,
      code: 'account_suspended',
      reason: 'spam',
    })
    expect([wrong.status, wrong.body]).to.deep.equal([elsewhere.status, elsewhere.body])
    expect(identity.hasher.verified).to.deep.equal([user.passwordHash, user.passwordHash, other.passwordHash])
  })

  it('that ends revives no token, not even one of the second in which it began and ended', async () => {
    const user = await buildUser(identity)
    await using events = await collectEvents(identity, [userUnsuspended])
    const before = claimsOf(await logIn(user))

    await answered(suspend(user))
    const ended = await unsuspend(user)

    expect(ended.body).to.include({ suspendedAt: null, suspendedReason: null })
    const again = claimsOf(await logIn(user))
    const state = accountStateOf(await readUser(identity, user.id))
    expect([judgeToken(before, state), judgeToken(again, state)]).to.deep.equal(['revoked', 'live'])
    await answered(suspend(user))
    await answered(unsuspend(user))
    const last = accountStateOf(await readUser(identity, user.id))
    expect(judgeToken(again, last)).to.equal('revoked')
    expect(judgeToken(claimsOf(await logIn(user)), last)).to.equal('live')
    expect(await events.ofUser(user.id, 2)).to.have.length(2)
    expect((await auditOf(user)).map(({ action }) => action)).to.deep.equal([
      'user.unsuspended',
      'user.suspended',
      'user.unsuspended',
      'user.suspended',
    ])
  })

  it('that is said again changes nothing, or the reason alone', async () => {
    const user = await buildUser(identity)
    await answered(suspend(user, { reason: 'spam' }))
    const first = await readUser(identity, user.id)

    await answered(suspend(user, { reason: 'spam' }))
    expect(await readUser(identity, user.id)).to.deep.equal(first)
    identity.clock.advance(5_000)
    await answered(suspend(user, { reason: 'worse' }))

    expect(await readUser(identity, user.id)).to.include({ suspendedAt: first.suspendedAt, suspendedReason: 'worse' })
    await answered(unsuspend(user))
    const ended = await readUser(identity, user.id)
    expect((await unsuspend(user)).status).to.equal(200)
    expect(await readUser(identity, user.id)).to.deep.equal(ended)
    expect(await auditOf(user)).to.have.length(3)
  })

  it('is for living local accounts but oneself and the last admin', async () => {
    const stub = await buildStub(identity)
    const deleted = await buildUser(identity, { isDeleted: true })
    const user = await buildUser(identity)

    const answers = await Promise.all([
      suspend(stub),
      suspend(admin),
      suspend(deleted),
      suspend({ id: '1' }),
      suspend(user, {}, user),
      unsuspend(deleted),
      unsuspend({ id: '1' }),
    ])

    expect(answers.map(({ status, body }) => [status, body['code']])).to.deep.equal([
      [400, 'suspension_of_home'],
      [409, 'own_suspension'],
      [400, 'target_deleted'],
      [404, 'user_unknown'],
      [403, 'admin_required'],
      [400, 'target_deleted'],
      [404, 'user_unknown'],
    ])
    expect((await readUser(identity, stub.id)).suspendedAt).to.equal(null)
  })

  it('of two admins by each other holds for one: one stays, and a suspended admin does not count as one', async () => {
    await using own = await startTestIdentity()
    const [one, other] = [await buildUser(own, { isAdmin: true }), await buildUser(own, { isAdmin: true })]
    const act = (method: string, path: string, as: User, body?: object) =>
      own.call(method, `/api/admin/users/${path}`, { as, ...(body && { body }) })
    for (const { username } of [one, other]) {
      await answered(own.call('POST', '/api/auth/login', { body: { username, password: testPassword } }))
    }

    const both = await Promise.all([
      act('POST', `${other.id}/suspend`, one, {}),
      act('POST', `${one.id}/suspend`, other, {}),
    ])

    expect(both.map(({ status }) => status).toSorted()).to.deep.equal([200, 401])
    const [left, suspended] = both[0].status === 200 ? [one, other] : [other, one]
    const demoted = await act('PATCH', `${left.id}/role`, left, { isAdmin: false })
    expect([demoted.status, demoted.body['code']]).to.deep.equal([409, 'last_admin'])
    await answered(act('POST', `${suspended.id}/unsuspend`, left))
    await answered(act('PATCH', `${left.id}/role`, left, { isAdmin: false }))
  })

  it('shows admins since when and why, and nobody else', async () => {
    const [user, friend] = [await buildUser(identity), await buildUser(identity)]
    await answered(suspend(user, { reason: 'spam' }))
    const found = async (query: string, as = admin) =>
      (await identity.call('GET', `/api/admin/users?${query}`, { as })).body['users'] as object[]

    const [listed] = await found(`q=${user.username}`)
    const seen = await identity.call('GET', `/api/users/${user.id}`, { as: friend })
    const byAdmin = await identity.call('GET', `/api/users/${user.id}`, { as: admin })

    expect(listed).to.include({ suspendedAt: identity.clock.now(), suspendedReason: 'spam' })
    for (const { body } of [seen, byAdmin]) expect(body).to.not.have.any.keys('suspendedAt', 'suspendedReason')
    expect((await found('suspended=true')).every((one) => (one as User).suspendedAt !== null)).to.equal(true)
    expect(await found(`suspended=true&q=${user.username}`)).to.have.length(1)
    expect(await found(`suspended=true&q=${friend.username}`)).to.deep.equal([])
  })

  it('still lets the account be deleted; its tombstone has none of it', async () => {
    const user = await buildUser(identity)
    await answered(suspend(user, { reason: 'spam' }))

    await answered(identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }))

    expect(await readUser(identity, user.id)).to.include({ suspendedAt: null, suspendedReason: null, isDeleted: true })
    expect((await logIn(user)).status).to.equal(401)
    const { body } = await identity.call('GET', `/api/admin/users?showDeleted=true`, { as: admin })
    const tombstone = (body['users'] as User[]).find(({ id }) => id === user.id)
    expect(tombstone).to.include({ isDeleted: true }).and.not.have.any.keys('suspendedAt', 'suspendedReason')
  })

  it('lists who came by an invite', async () => {
    const invite = await buildInvite(identity, { maxUses: 9 })
    const register = (username: string, inviteToken?: string) =>
      answered(
        identity.call('POST', '/api/auth/register', {
          body: { username, password: testPassword, ...(inviteToken && { inviteToken }) },
        }),
      )
    await register('uninvited')
    await setGates(identity, { registrationOpen: false })
    for (const name of ['spam_one', 'spam_two']) await register(name, invite.token)

    const { body } = await identity.call('GET', `/api/admin/users?invite=${invite.id}&sort=az`, { as: admin })

    expect((body['users'] as User[]).map(({ username }) => username)).to.deep.equal(['spam_one', 'spam_two'])
    expect(body['total']).to.equal(2)
  })

  describe('in races', () => {
    it('gives no token to a login whose password was verified before', async () => {
      const user = await buildUser(identity)
      identity.hasher.beforeWork = async () => {
        identity.hasher.beforeWork = async () => undefined
        await answered(suspend(user))
      }

      expect((await logIn(user)).body).to.include({ code: 'account_suspended' })
    })

    it('is waited for by a login while it is not committed', async () => {
      const user = await buildUser(identity)
      const change = identity.deps.orm.em.fork()
      await change.begin()
      await change.execute('update users set suspended_at = 1 where id = ?', [user.id])

      const login = logIn(user)
      await eventually('the login waits', () => countLockWaits(identity.deps))
      await change.commit()

      expect((await login).status).to.equal(403)
    })

    for (const [what, path, body] of [
      ['a change of the password', 'change-password', { currentPassword: testPassword, newPassword: 'a new password' }],
      ['an end of all sessions', 'sessions/end', { password: testPassword }],
    ] as const) {
      it(`gives no fresh token to ${what} whose password was verified before`, async () => {
        const user = await buildUser(identity)
        await answered(logIn(user))
        identity.hasher.beforeWork = async () => {
          identity.hasher.beforeWork = async () => undefined
          await answered(suspend(user))
        }

        const { status, body: answer } = await identity.call('POST', `/api/users/@me/${path}`, { as: user, body })

        expect([status, answer['code']]).to.deep.equal([401, 'token_revoked'])
        expect((await readUser(identity, user.id)).passwordHash).to.equal(user.passwordHash)
      })
    }

    it('leaves no live token, however sixteen logins and a suspension interleave', async () => {
      for (let round = 0; round < 8; round += 1) {
        const user = await buildUser(identity)
        const logins = Array.from({ length: 16 }, () => untilAvailable(() => logIn(user)))
        await answered(suspend(user))
        const state = await identity.deps.accountStateCache.find(user.id)
        const now = state ?? accountStateOf(await readUser(identity, user.id))
        for (const login of await Promise.all(logins)) {
          if (login.status === 200) expect(judgeToken(claimsOf(login), now)).to.equal('revoked')
          else expect(login.body).to.include({ code: 'account_suspended' })
        }
      }
    })

    it('happens once for sixteen admins at a time', async () => {
      const user = await buildUser(identity)
      const answers = await Promise.all(
        Array.from({ length: 16 }, () => untilAvailable(() => suspend(user, { reason: 'spam' }))),
      )

      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 16 }, () => 200))
      expect(await auditOf(user)).to.have.length(1)
    })
  })

  it('leaves a reset password useless until it ends', async () => {
    const user = await buildUser(identity)
    await answered(suspend(user))

    const reset = await identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })
    const password = String(reset.body['temporaryPassword'])

    expect((await logIn(user, password)).body).to.include({ code: 'account_suspended' })
    await answered(unsuspend(user))
    expect((await logIn(user, password)).status).to.equal(200)
  })
})
