import { expect } from 'chai'
import { passwordReset, roleChanged, userDeleted } from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { buildSpace, column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { answered } from '@gatehouse/test-kit'

describe('administration of accounts', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { username: 'the_admin', isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  const act = (method: string, path: string, body?: unknown) =>
    identity.call(method, `/api/admin${path}`, { as: admin, ...(body === undefined ? {} : { body }) })
  const asActor = () => ({ userId: admin.id, username: admin.username })
  const lastAudit = async () => (await act('GET', '/audit?limit=1')).body.entries as Record<string, unknown>[]

  it('admin routes refuse callers who are not admins', async () => {
    const user = await buildUser(identity)
    const routes = [
      ['GET', '/users'],
      ['PATCH', `/users/${user.id}/role`],
      ['POST', `/users/${user.id}/reset-password`],
      ['POST', `/users/${user.id}/sessions/end`],
      ['DELETE', `/users/${user.id}`],
      ['GET', '/audit'],
    ] as const

    for (const [method, path] of routes) {
      const body = method === 'PATCH' ? { body: {} } : {}
      expect((await identity.call(method, `/api/admin${path}`, { as: user, ...body })).status, path).to.equal(403)
      expect((await identity.call(method, `/api/admin${path}`, body)).status, path).to.equal(401)
    }
  })

  /** Contract: 5, sessions/end. */
  it('ends all sessions of an account, whatever its home, under the name of the admin', async () => {
    const user = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })

    await answered(act('POST', `/users/${user.id}/sessions/end`))

    const { sessionsEndedAt, passwordHash } = await readUser(identity, user.id)
    expect([sessionsEndedAt, passwordHash]).to.deep.equal([identity.clock.now(), user.passwordHash])
    expect((await lastAudit())[0]).to.include({ action: 'user.sessions-ended', actorId: admin.id, targetId: user.id })
  })

  describe('POST /api/admin/users/:id/reset-password', () => {
    /** Contract: 5, reset-password. */
    it('Admin reset 1: refuses unknown, deleted and federated targets', async () => {
      const deleted = await buildUser(identity, { isDeleted: true })
      const federated = await buildUser(identity, { homeInstance: 'home.example' })

      const unknown = await act('POST', '/users/1/reset-password')
      const gone = await act('POST', `/users/${deleted.id}/reset-password`)
      const remote = await act('POST', `/users/${federated.id}/reset-password`)

      expect([unknown.status, gone.status, remote.status]).to.deep.equal([404, 400, 400])
      expect(remote.body.error).to.equal('Federated users authenticate via their home instance')
      expect((await readUser(identity, federated.id)).passwordChangedAt).to.equal(null)
    })

    it('Admin reset 2, 4: gives a password of 16 characters that works, where the old one does not', async () => {
      const user = await buildUser(identity)

      const { body, status } = await act('POST', `/users/${user.id}/reset-password`)
      const password = body.temporaryPassword as string
      const login = (given: string) =>
        identity.call('POST', '/api/auth/login', { body: { username: user.username, password: given } })

      expect(status).to.equal(200)
      expect(password).to.match(/^[A-Za-z0-9_-]{16}$/)
      expect([(await login(password)).status, (await login(testPassword)).status]).to.deep.equal([200, 401])
      expect((await readUser(identity, user.id)).passwordChangedAt).to.equal(identity.clock.now())
      expect(JSON.stringify(identity.logLines)).to.not.include(password)
    })

    it('Admin reset 3: revokes tokens before it answers and publishes the reset, which closes all sockets', async () => {
      const user = await buildUser(identity)
      await cacheState(identity, user)
      await using events = await collectEvents(identity, [passwordReset])

      await answered(act('POST', `/users/${user.id}/reset-password`))

      const at = identity.clock.now()
      expect(await identity.deps.accountStateCache.find(user.id)).to.include({
        passwordChangedAt: at,
        sessionsEndedAt: at,
      })
      const state = accountStateOf(await readUser(identity, user.id))
      expect((await events.ofUser(user.id, 1)).map(({ name, payload }) => [name, payload])).to.deep.equal([
        ['PasswordReset', { userId: user.id, at, state, actor: asActor() }],
      ])
      expect((await lastAudit())[0]).to.include({ action: 'user.password-reset', targetId: user.id, actorId: admin.id })
    })
  })

  describe('PATCH /api/admin/users/:id/role', () => {
    it('makes an admin, invalidates the cache before the answer, publishes the change, and records it in the audit log', async () => {
      const user = await buildUser(identity)
      await cacheState(identity, user)
      await using events = await collectEvents(identity, [roleChanged])

      const answer = await act('PATCH', `/users/${user.id}/role`, { isAdmin: true })

      expect([answer.status, answer.body.isAdmin]).to.deep.equal([200, true])
      expect(await identity.deps.accountStateCache.find(user.id)).to.include({ isAdmin: true, version: 2 })
      expect((await lastAudit())[0]).to.include({ action: 'user.promoted', targetId: user.id })
      await answered(act('PATCH', `/users/${user.id}/role`, { isAdmin: false }))
      const demoted = accountStateOf(await readUser(identity, user.id))
      const promoted = { ...demoted, isAdmin: true, version: 2 }
      expect(demoted).to.include({ isAdmin: false, version: 3 })
      const facts = { userId: user.id, at: identity.clock.now(), actor: asActor() }
      expect((await events.ofUser(user.id, 2)).map(({ payload }) => payload)).to.deep.equal([
        { ...facts, state: promoted, isAdmin: true },
        { ...facts, state: demoted, isAdmin: false },
      ])
    })

    it('changes nothing when the account has the role already', async () => {
      const user = await buildUser(identity)

      const answer = await act('PATCH', `/users/${user.id}/role`, { isAdmin: false })

      expect(answer.status).to.equal(200)
      expect((await readUser(identity, user.id)).stateVersion).to.equal(1)
    })

    it('refuses unknown and deleted accounts, stubs, and anything but a boolean', async () => {
      const deleted = await buildUser(identity, { isDeleted: true })
      const stub = await buildUser(identity, { passwordHash: '!federation-replicated', homeInstance: 'home.example' })
      const role = async (id: string, isAdmin: unknown) => (await act('PATCH', `/users/${id}/role`, { isAdmin })).status

      expect(await role('1', true)).to.equal(404)
      expect(await role(deleted.id, true)).to.equal(400)
      expect(await role(stub.id, true)).to.equal(400)
      expect(await role(admin.id, 'yes')).to.equal(400)
    })

    /** Contract: 5, Role. */
    it('refuses to demote the last admin', async () => {
      const answer = await act('PATCH', `/users/${admin.id}/role`, { isAdmin: false })

      expect(answer.status).to.equal(409)
      expect((await readUser(identity, admin.id)).isAdmin).to.equal(true)
    })

    it('keeps exactly one of two admins who demote each other at once', async () => {
      await using own = await startTestIdentity()
      for (let round = 0; round < 10; round += 1) {
        const pair = [await buildUser(own, { isAdmin: true }), await buildUser(own, { isAdmin: true })]
        const demote = (actor: User, target: User) =>
          own.call('PATCH', `/api/admin/users/${target.id}/role`, { as: actor, body: { isAdmin: false } })

        const answers = await Promise.all([demote(pair[0]!, pair[1]!), demote(pair[1]!, pair[0]!)])

        expect(answers.map((answer) => answer.status).toSorted()).to.deep.equal([200, 403])
        expect(await column(own, 'select count(*) from users where is_admin')).to.deep.equal(['1'])
        await own.deps.orm.em.fork().execute('update users set is_admin = false')
      }
    })
  })

  describe('DELETE /api/admin/users/:id', () => {
    it('deletes without a password, and records and publishes the admin who acted', async () => {
      const user = await buildUser(identity)
      await using events = await collectEvents(identity, [userDeleted])

      const answer = await act('DELETE', `/users/${user.id}`)

      expect([answer.status, answer.body]).to.deep.equal([200, { success: true, instances: 0 }])
      expect((await readUser(identity, user.id)).isDeleted).to.equal(true)
      expect((await lastAudit())[0]).to.include({
        action: 'user.deleted',
        actorUsername: 'the_admin',
        targetType: 'user',
        targetId: user.id,
        createdAt: identity.clock.now(),
      })
      const [event] = await events.ofUser(user.id, 1)
      const state = accountStateOf(await readUser(identity, user.id))
      const facts = { userId: user.id, at: identity.clock.now(), state, actor: asActor() }
      expect(event!.payload).to.deep.equal({ ...facts, mode: 'full', audience: [] })
    })

    it('refuses the owner of spaces, unknown and deleted accounts, and records nothing', async () => {
      const owner = await buildUser(identity)
      const spaceId = await buildSpace(identity, owner, 'kept')
      const deleted = await buildUser(identity, { isDeleted: true })
      const before = await lastAudit()

      const owned = await act('DELETE', `/users/${owner.id}`)

      expect(owned.status).to.equal(400)
      expect(owned.body.ownedSpaces).to.deep.equal([{ id: spaceId, name: 'kept' }])
      expect((await act('DELETE', '/users/1')).status).to.equal(404)
      expect((await act('DELETE', `/users/${deleted.id}`)).status).to.equal(400)
      expect((await act('DELETE', '/users/x')).status).to.equal(400)
      expect(await lastAudit()).to.deep.equal(before)
    })
  })
})

describe('the last admin', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => void (await identity.deps.orm.em.fork().execute('update users set is_admin = false')))

  const remove = (actor: User, target: User) => identity.call('DELETE', `/api/admin/users/${target.id}`, { as: actor })

  it('does not delete the own account through the admin route', async () => {
    const admin = await buildUser(identity, { isAdmin: true })

    expect((await remove(admin, admin)).status).to.equal(400)
    expect((await readUser(identity, admin.id)).isDeleted).to.equal(false)
  })

  /** Contract: 5, DELETE users. */
  it('is not deleted while the only other admins are federated, and is once there is a local one', async () => {
    const remote = { homeInstance: 'home.example', isAdmin: true }
    const federated = await buildUser(identity, { username: 'fed@home.example', ...remote })
    const last = await buildUser(identity, { isAdmin: true })

    expect((await remove(federated, last)).status).to.equal(409)
    expect((await readUser(identity, last.id)).isDeleted).to.equal(false)
    await buildUser(identity, { isAdmin: true })
    expect((await remove(federated, last)).status).to.equal(200)
  })

  it('stays when three admins delete each other in a circle at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      await identity.deps.orm.em.fork().execute('update users set is_admin = false')
      const circle: User[] = []
      for (let count = 0; count < 3; count += 1) circle.push(await buildUser(identity, { isAdmin: true }))

      const answers = await Promise.all(circle.map((admin, index) => remove(admin, circle[(index + 1) % 3]!)))

      expect(answers.map(({ status }) => status).every((status) => [200, 401, 409].includes(status))).to.equal(true)
      const live = await column(identity, 'select count(*) from users where is_admin and not is_deleted')
      expect(Number(live[0])).to.be.greaterThan(0)
    }
  })

  it('is no federated account: it cannot be made one', async () => {
    const admin = await buildUser(identity, { isAdmin: true })
    const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })

    const answer = await identity.call('PATCH', `/api/admin/users/${federated.id}/role`, {
      as: admin,
      body: { isAdmin: true },
    })

    expect([answer.status, answer.body['error']]).to.deep.equal([403, 'A federated account cannot become an admin'])
    expect((await readUser(identity, federated.id)).isAdmin).to.equal(false)
  })
})
