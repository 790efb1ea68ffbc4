import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { findLogin, judgeToken, readAccountStates } from '@gatehouse/authority'
import type { User } from '@gatehouse/domain'
import { answered } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const daySeconds = 24 * 60 * 60

/** Contract: 3, renew. */
describe('POST /api/users/@me/renew', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  const now = () => Math.floor(identity.clock.now() / 1000)
  const renew = ({ id, username }: User, ageSeconds: number, at = identity) =>
    at.call('POST', '/api/users/@me/renew', { as: { id, username, tokenIssuedAt: now() - ageSeconds } })
  const endSessions = (as: User) =>
    identity.call('POST', '/api/users/@me/sessions/end', { as, body: { password: testPassword } })
  const claimsOf = (token: unknown) =>
    verifyToken(createTokenKey(identity.config.jwtSecret), String(token), identity.clock.now())!
  const judge = async (token: unknown) => {
    const claims = claimsOf(token)
    const [state] = await readAccountStates(identity.deps.orm.em.fork(), [claims.userId])
    return judgeToken(claims, state)
  }

  it('gives a fresh token of a whole lifetime, leaves the earlier one good, and is told among the sign-ins', async () => {
    const user = await buildUser(identity)

    const { body } = await answered(renew(user, daySeconds + 1), 200)

    const { userId, iat, exp } = claimsOf(body['token'])
    expect(Object.keys(body)).to.deep.equal(['token'])
    expect({ userId, iat, exp }).to.deep.equal({ userId: user.id, iat: now(), exp: now() + 30 * daySeconds })
    expect(await judge(body['token'])).to.equal('live')
    const { body: listed } = await answered(identity.call('GET', '/api/users/@me/sign-ins', { as: user }))
    const [signIn, ...others] = listed['signIns'] as { method: string; signedInAt: number }[]
    expect(signIn).to.include({ method: 'renewal', signedInAt: identity.clock.now() })
    expect(others).to.deep.equal([])
    await answered(renew(user, daySeconds + 1), 200)
  })

  it('is no login: what applications are told is the login of the session, after any number of renewals', async () => {
    const user = await buildUser(identity)
    const loginOf = (tokenIssuedAt: number) =>
      findLogin(identity.deps.orm.em.fork(), { userId: user.id, tokenIssuedAt })
    const logIn = () =>
      identity.call('POST', '/api/auth/login', { body: { username: user.username, password: testPassword } })
    await answered(logIn())
    const loggedInAt = now()
    for (const time of ['first', 'second']) {
      identity.clock.advance((daySeconds + 1) * 1_000)
      await answered(renew(user, time === 'first' ? now() - loggedInAt : daySeconds + 1))
      expect(await loginOf(now()), time).to.equal(loggedInAt)
    }
    identity.clock.advance(1_000)
    await answered(logIn())
    expect(await loginOf(now())).to.equal(now())
    expect(await loginOf(now() - 1)).to.equal(loggedInAt)

    identity.clock.advance(1_000)
    const { body } = await answered(endSessions(user))
    const { iat } = claimsOf(body['token'])
    expect(await loginOf(iat), 'the password was confirmed').to.equal(iat)
    expect(await loginOf(iat + 5), 'no sign-in is known').to.equal(null)
  })

  it('takes no token of a day or less, and none where JWT_RENEW is off', async () => {
    const user = await buildUser(identity)
    const { databaseUrl } = identity
    await using off = await startTestIdentity({ databaseUrl, config: { jwtRenew: false } })

    const early = await renew(user, daySeconds - 1)
    expect([early.status, early.body['code']]).to.deep.equal([409, 'renewal_too_early'])
    const refused = await renew(user, daySeconds + 1, off)
    expect([refused.status, refused.body['code']]).to.deep.equal([403, 'renewal_off'])
    expect((await identity.call('POST', '/api/users/@me/renew')).status).to.equal(401)
  })

  it('leaves no live token beside an end of all sessions, in whatever order the two come', async () => {
    for (let round = 0; round < 10; round += 1) {
      const user = await buildUser(identity)
      const acts = [() => renew(user, daySeconds + 1), () => endSessions(user)]
      const [renewed, ended] = await Promise.all((round % 2 ? acts.toReversed() : acts).map((act) => act())).then(
        (answers) => (round % 2 ? answers.toReversed() : answers),
      )

      expect(ended!.status).to.equal(200)
      if (renewed!.status === 200) expect(await judge(renewed!.body['token'])).to.equal('revoked')
      else expect(renewed!.status).to.equal(401)
      expect(await judge(ended!.body['token'])).to.equal('live')
    }
  })
})
