import { expect } from 'chai'
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { databaseTime } from '@gatehouse/database'
import { accountStateOf } from '@gatehouse/domain'
import { createServiceClient, answered } from '@gatehouse/test-kit'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const minute = 60_000

describe('token times come from the one clock of the database', () => {
  let ahead: TestIdentity
  let behind: TestIdentity
  before(async () => {
    ahead = await startTestIdentity({ overrides: { databaseTime } })
    behind = await startTestIdentity({ databaseUrl: ahead.databaseUrl, overrides: { databaseTime } })
    ahead.clock.advance(minute)
    behind.clock.advance(-minute)
  })
  after(async () => {
    await behind[Symbol.asyncDispose]()
    await ahead[Symbol.asyncDispose]()
  })

  const now = async () => await databaseTime(ahead.deps.orm.em.fork())
  const claimsOf = (token: unknown) => verifyToken(createTokenKey(ahead.config.jwtSecret), String(token), Date.now())!
  const login = async (replica: TestIdentity, username: string, password: string) =>
    (await replica.call('POST', '/api/auth/login', { body: { username, password } })).body['token']

  it('so that a token of a replica that is behind is live after a reset by one that is ahead', async () => {
    const admin = await buildUser(ahead, { isAdmin: true })
    const user = await buildUser(ahead)
    const reset = await ahead.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin })

    const token = await login(behind, user.username, String(reset.body['temporaryPassword']))

    const state = accountStateOf(await readUser(ahead, user.id))
    expect(judgeToken(claimsOf(token), state)).to.equal('live')
    expect(await now()).to.be.at.least(state.passwordChangedAt!)
  })

  it('so that every token and change has the time at which it was made, on both replicas', async () => {
    for (const replica of [ahead, behind]) {
      const from = await now()
      const body = { username: `new_${replica === ahead ? 'a' : 'b'}`, password: testPassword }
      const registered = (
        await replica.call<{ token: string; user: { id: string } }>('POST', '/api/auth/register', { body })
      ).body
      const loggedIn = await login(replica, body.username, testPassword)
      const changed = await replica.call('POST', '/api/users/@me/change-password', {
        as: { id: registered.user.id, username: body.username, tokenIssuedAt: claimsOf(loggedIn).iat },
        body: { currentPassword: testPassword, newPassword: 'a better password' },
      })
      const until = await now()

      const { passwordChangedAt } = await readUser(replica, registered.user.id)
      expect(passwordChangedAt).to.be.within(from, until)
      for (const token of [registered.token, loggedIn, changed.body['token']]) {
        expect(claimsOf(token).iat).to.be.within(Math.floor(from / 1000), Math.floor(until / 1000))
      }
    }
  })

  it('and a gateway whose clock is a minute ahead or behind reaches every replica', async () => {
    const user = await buildUser(ahead)
    for (const skew of [minute, -minute]) {
      const clock = { now: () => behind.clock.now() + skew }
      const call = createServiceClient({ name: 'identity', url: behind.url, clock })

      expect((await call('GET', '/api/users/@me', { as: { id: user.id, username: user.username } })).status).to.equal(
        200,
      )
    }
  })

  it('and never go back: after a change of a later time a login is issued at it, and the next change revokes that', async () => {
    const later = (await now()) + minute
    const next = (Math.floor(later / 1000) + 1) * 1000
    const user = await buildUser(ahead, { passwordChangedAt: later, sessionsEndedAt: later })
    const claims = claimsOf(await login(behind, user.username, testPassword))
    expect(claims.iat).to.equal(Math.floor(later / 1000))
    const admin = await buildUser(ahead, { isAdmin: true })

    await answered(ahead.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin }))

    const changed = await readUser(ahead, user.id)
    expect(changed).to.include({ passwordChangedAt: next, sessionsEndedAt: next })
    expect(judgeToken(claims, accountStateOf(changed))).to.equal('revoked')
  })
})
