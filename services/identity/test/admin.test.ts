import { expect } from 'chai'
import { accountChanged, accountSessionsEnded } from '@gatehouse/contracts'
import { eventually } from '@gatehouse/test-kit'
import type { User } from '@gatehouse/domain'
import { buildUser, readUser, rememberState } from './builders.ts'
import { buildSpace, column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

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
  const lastAudit = async () => (await act('GET', '/audit?limit=1')).body.entries as Record<string, unknown>[]

  it('admin routes refuse everybody who is no admin', async () => {
    const user = await buildUser(identity)
    const routes = [
      ['GET', '/users'],
      ['PATCH', `/users/${user.id}/role`],
      ['POST', `/users/${user.id}/reset-password`],
      ['DELETE', `/users/${user.id}`],
      ['GET', '/settings'],
      ['PATCH', '/settings'],
      ['GET', '/audit'],
    ] as const

    for (const [method, path] of routes) {
      const body = method === 'PATCH' ? { body: {} } : {}
      expect((await identity.call(method, `/api/admin${path}`, { as: user, ...body })).status, path).to.equal(403)
      expect((await identity.call(method, `/api/admin${path}`, body)).status, path).to.equal(401)
    }
  })

  describe('POST /api/admin/users/:id/reset-password', () => {
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

    it('Admin reset 3: kills tokens before it answers and tells that all sockets must close', async () => {
      const user = await buildUser(identity)
      await rememberState(identity, user)
      const ended: unknown[] = []
      await using _ended = await identity.deps.bus.listen(accountSessionsEnded, async ({ payload }) => {
        if (payload.userId === user.id) ended.push(payload)
      })

      await act('POST', `/users/${user.id}/reset-password`)

      const at = identity.clock.now()
      expect(await identity.deps.store.find(user.id)).to.include({ passwordChangedAt: at, sessionsEndedAt: at })
      await eventually('the event', () => ended.length === 1)
      expect(ended).to.deep.equal([{ userId: user.id, reason: 'password_reset', at }])
      expect((await lastAudit())[0]).to.include({ action: 'user.password-reset', targetId: user.id, actorId: admin.id })
    })
  })

  describe('PATCH /api/admin/users/:id/role', () => {
    it('makes an admin, announces it before the answer, and writes it down', async () => {
      const user = await buildUser(identity)
      await rememberState(identity, user)
      const heard: unknown[] = []
      await using _changed = await identity.deps.bus.listen(accountChanged, async ({ payload }) => {
        if (payload.userId === user.id) heard.push(payload.isAdmin)
      })

      const answer = await act('PATCH', `/users/${user.id}/role`, { isAdmin: true })

      expect([answer.status, answer.body.isAdmin]).to.deep.equal([200, true])
      expect(await identity.deps.store.find(user.id)).to.include({ isAdmin: true, version: 2 })
      await eventually('the event', () => heard.length === 1)
      expect((await lastAudit())[0]).to.include({ action: 'user.promoted', targetId: user.id })
      await act('PATCH', `/users/${user.id}/role`, { isAdmin: false })
      expect((await readUser(identity, user.id)).isAdmin).to.equal(false)
    })

    it('changes nothing when it is so already', async () => {
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

    it('does not let the last admin step down', async () => {
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

        expect(answers.map((answer) => answer.status).toSorted()).to.deep.equal([200, 409])
        expect(await column(own, 'select count(*) from users where is_admin')).to.deep.equal(['1'])
        await own.deps.orm.em.fork().execute('update users set is_admin = false')
      }
    })
  })

  describe('DELETE /api/admin/users/:id', () => {
    it('deletes without a password and writes down who did it', async () => {
      const user = await buildUser(identity)

      const answer = await act('DELETE', `/users/${user.id}`)

      expect([answer.status, answer.body]).to.deep.equal([200, { success: true }])
      expect((await readUser(identity, user.id)).isDeleted).to.equal(true)
      expect((await lastAudit())[0]).to.include({
        action: 'user.deleted',
        actorUsername: 'the_admin',
        targetType: 'user',
        targetId: user.id,
        createdAt: identity.clock.now(),
      })
    })

    it('refuses the owner of spaces, unknown and deleted accounts, and writes nothing down', async () => {
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
