import { judgeToken } from '@gatehouse/authority'
import { expect } from 'chai'
import { roleChanged, sessionsEnded, userCreated } from '@gatehouse/contracts'
import { accountStateOf } from '@gatehouse/domain'
import { buildUser, cacheState, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { answered } from '@gatehouse/test-kit'

const path = '/internal/operator'
const operator = { userId: null, username: 'operator' }

describe("the routes of the operator's command line", () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => void (await identity.deps.orm.em.fork().execute('update users set is_admin = false')))

  const act = (method: string, route: string, body?: object) =>
    identity.call(method, route, { as: 'operator', ...(body && { body }) })
  const lastAudit = async () => {
    const { body } = await act('GET', '/api/admin/audit?limit=1')
    return (body['entries'] as Record<string, unknown>[])[0]
  }

  it('are none for anybody else, an admin included, and the operator has no account elsewhere', async () => {
    const { id, username } = await buildUser(identity, { isAdmin: true })
    const admin = { id, username, isAdmin: true }
    const routes = [
      ['GET', '/user?user=ada'],
      ['POST', '/users'],
    ] as const

    for (const [method, route] of routes) {
      const body = method === 'POST' ? { body: { username: 'mallory' } } : {}
      for (const caller of [{}, { as: admin }]) {
        expect((await identity.call(method, path + route, { ...caller, ...body })).status, route).to.equal(404)
      }
    }
    expect((await act('GET', '/api/users/@me')).status).to.equal(401)
    expect((await act('DELETE', '/api/users/@me', { username: 'operator' })).status).to.equal(401)
  })

  it('make a local account while registration is closed, with a temporary password that has to be replaced', async () => {
    await answered(act('PATCH', '/api/settings/instance', { registrationOpen: false }))
    await using events = await collectEvents(identity, [userCreated])

    const { status, body } = await act('POST', `${path}/users`, { username: 'Grace' })

    const user = body['user'] as { id: string }
    expect([status, user]).to.deep.include(201)
    expect(user).to.include({ username: 'grace', passwordChangeRequired: true })
    const login = { username: 'grace', password: body['temporaryPassword'] }
    expect((await identity.call('POST', '/api/auth/login', { body: login })).status).to.equal(200)
    expect(await lastAudit()).to.include({
      action: 'user.created',
      actorId: null,
      actorUsername: 'operator',
      targetId: user.id,
    })
    expect((await events.ofUser(user.id, 1))[0]!.payload).to.include({ origin: 'local' })
    expect(JSON.stringify(identity.logLines)).to.not.include(body['temporaryPassword'])
  })

  it('keep a password that was given, and refuse a name that is taken or malformed', async () => {
    const given = await act('POST', `${path}/users`, { username: 'hedy', password: 'a long enough password' })

    expect([given.status, given.body['temporaryPassword']]).to.deep.equal([201, null])
    expect(given.body['user']).to.include({ passwordChangeRequired: false })
    expect((await act('POST', `${path}/users`, { username: 'hedy' })).status).to.equal(409)
    expect((await act('POST', `${path}/users`, { username: 'no good' })).status).to.equal(400)
    expect((await act('POST', `${path}/users`, { username: 'ivy', password: 'short' })).status).to.equal(400)
  })

  it('suspend an admin, but not the last one', async () => {
    const [one, other] = [await buildUser(identity, { isAdmin: true }), await buildUser(identity, { isAdmin: true })]
    const suspend = ({ id }: { id: string }) => act('POST', `/api/admin/users/${id}/suspend`)

    const first = await suspend(one)
    const last = await suspend(other)

    expect([first.status, last.status, last.body['code']]).to.deep.equal([200, 409, 'last_admin_suspended'])
    expect((await readUser(identity, other.id)).suspendedAt).to.equal(null)
  })

  it('end all sessions of an account: its tokens are revoked when they answer, the password stays', async () => {
    const user = await buildUser(identity)
    await cacheState(identity, user)
    await using events = await collectEvents(identity, [sessionsEnded])

    const { status } = await act('POST', `/api/admin/users/${user.id}/sessions/end`)

    const at = identity.clock.now()
    const stored = await readUser(identity, user.id)
    const cached = await identity.deps.accountStateCache.find(user.id)
    expect(status).to.equal(200)
    expect(judgeToken({ iat: Math.floor(at / 1000) - 1 }, cached)).to.equal('revoked')
    expect(stored).to.include({ passwordHash: user.passwordHash, sessionsEndedAt: at, passwordChangeRequired: false })
    expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([
      { userId: user.id, at, actor: operator, state: accountStateOf(stored) },
    ])
    const deleted = await buildUser(identity, { isDeleted: true })
    expect((await act('POST', `/api/admin/users/${deleted.id}/sessions/end`)).status).to.equal(400)
    expect((await act('POST', '/api/admin/users/1/sessions/end')).status).to.equal(404)
  })

  it('find an account by name or id, and refuse a name that is the id of another one', async () => {
    const user = await buildUser(identity)
    const namesake = await buildUser(identity, { username: user.id })
    const find = async (text: string) => {
      const { status, body } = await act('GET', `${path}/user?user=${encodeURIComponent(text)}`)
      return status === 200 ? (body['user'] as { id: string }).id : status
    }

    expect(await find(user.username.toUpperCase())).to.equal(user.id)
    expect(await find(user.id)).to.equal(409)
    expect(await find(`id:${user.id}`)).to.equal(user.id)
    expect(await find(`name:${user.id}`)).to.equal(namesake.id)
    expect(await find('nobody')).to.equal(404)
    expect(await find('99999999999999999999')).to.equal(404)
    expect(await find('')).to.equal(400)
  })

  it('are the way back when no admin is left, and neither demote nor delete the last one', async () => {
    const user = await buildUser(identity)
    await using events = await collectEvents(identity, [roleChanged])

    const promoted = await act('PATCH', `/api/admin/users/${user.id}/role`, { isAdmin: true })

    expect([promoted.status, promoted.body['isAdmin']]).to.deep.equal([200, true])
    expect((await events.ofUser(user.id, 1))[0]!.payload).to.deep.include({ actor: operator, isAdmin: true })
    expect(await lastAudit()).to.include({ action: 'user.promoted', actorId: null, actorUsername: 'operator' })
    expect((await act('PATCH', `/api/admin/users/${user.id}/role`, { isAdmin: false })).status).to.equal(409)
    expect((await act('DELETE', `/api/admin/users/${user.id}`)).status).to.equal(409)
    const { isAdmin, isDeleted } = await readUser(identity, user.id)
    expect({ isAdmin, isDeleted }).to.deep.equal({ isAdmin: true, isDeleted: false })

    const second = await buildUser(identity, { isAdmin: true })
    expect((await act('POST', `/api/admin/users/${second.id}/reset-password`)).status).to.equal(200)
    expect((await act('DELETE', `/api/admin/users/${user.id}`)).status).to.equal(200)
  })
})
