import { setTimeout as pause } from 'node:timers/promises'
import { createTokenKey, verifyToken, type TokenClaims } from '@gatehouse/auth'
import { judgeToken } from '@gatehouse/authority'
import { databaseTime } from '@gatehouse/database'
import { SignIn, accountStateOf, type User } from '@gatehouse/domain'
import { answered, countLockWaits, eventually, type TestCaller } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const newPassword = 'a password of my own'
const secondOf = (time: number) => Math.floor(time / 1000)

type Act = (user: User, as: TestCaller) => Promise<TestResponse>

/** Design: invariant 1; Contract: 3, Revocation. */
describe('a token of the second of a change', () => {
  let identity: TestIdentity
  let admin: User
  /** How long PostgreSQL was asked to wait. */
  let waits: number[]
  /** The times at which changes that waited were asked for. */
  let asked: number[]
  before(async () => {
    const lastRead = new WeakMap<object, number>()
    const measured: TestIdentity['deps']['databaseTime'] = async (em, afterMs = 0) => {
      if (afterMs > 0) {
        waits.push(afterMs)
        asked.push(lastRead.get(em)!)
      }
      const time = await databaseTime(em, afterMs)
      lastRead.set(em, time)
      return time
    }
    identity = await startTestIdentity({ connections: 10, overrides: { databaseTime: measured } })
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => {
    waits = []
    asked = []
  })

  const claimsOf = ({ body }: TestResponse): TokenClaims =>
    verifyToken(createTokenKey(identity.config.jwtSecret), String(body['token']), Date.now())!
  const logIn = (user: User) =>
    identity.call('POST', '/api/auth/login', { body: { username: user.username, password: testPassword } })
  const stateOf = async (user: User) => accountStateOf(await readUser(identity, user.id))
  const now = async () => await databaseTime(identity.deps.orm.em.fork())
  const asAdmin = (method: string, path: string) => identity.call(method, `/api/admin/users/${path}`, { as: admin })

  async function recover(user: User): Promise<TestResponse> {
    const { body } = await answered(asAdmin('POST', `${user.id}/recovery-link`), 201)
    const token = new URL(String(body['url'])).hash.slice(1)
    return await identity.call('POST', '/api/auth/recover', { body: { token, newPassword } })
  }

  const changePassword: Act = (_, as) => {
    const body = { currentPassword: testPassword, newPassword }
    return identity.call('POST', '/api/users/@me/change-password', { as, body })
  }
  const endSessions: Act = (_, as) =>
    identity.call('POST', '/api/users/@me/sessions/end', { as, body: { password: testPassword } })
  const reset: Act = ({ id }) => asAdmin('POST', `${id}/reset-password`)
  const acts: Record<string, Act> = {
    'a change of the own password': changePassword,
    'the end of all own sessions': endSessions,
    "an admin's reset": reset,
    'a recovery': recover,
    'the end of all sessions by an admin': ({ id }) => asAdmin('POST', `${id}/sessions/end`),
    'a suspension': ({ id }) => asAdmin('POST', `${id}/suspend`),
  }
  const deletions: Record<string, Act> = {
    'a deletion': ({ username }, as) =>
      identity.call('DELETE', '/api/users/@me', { as, body: { username, password: testPassword } }),
    'a deletion by an admin': ({ id }) => asAdmin('DELETE', id),
  }

  const secondBegins = () => eventually('a second begins', async () => (await now()) % 1000 < 300)
  let registered = 0

  /** The last token is of the second in which the act is asked for, which a busy machine may miss. */
  async function actAtOnce(act: Act) {
    await secondBegins()
    registered += 1
    const body = { username: `early_${registered}`, password: testPassword }
    const first = await answered(identity.call<{ token: string; user: User }>('POST', '/api/auth/register', { body }))
    const account = await readUser(identity, first.body.user.id)
    const old = [claimsOf(first), claimsOf(await answered(logIn(account)))]
    const { id, username } = account
    const answer = await answered(act(account, { id, username, tokenIssuedAt: old.at(-1)!.iat }))
    return { old, answer, state: await stateOf(account) }
  }

  for (const [name, act] of Object.entries(acts)) {
    it(`is refused after ${name}, which waits for the next one`, async () => {
      const attempts: Awaited<ReturnType<typeof actAtOnce>>[] = []
      await eventually('an act in the second of the token', async () => {
        attempts.push(await actAtOnce(act))
        return waits.length > 0
      })

      for (const { old, state } of attempts) {
        expect(old.map((claims) => judgeToken(claims, state))).to.deep.equal(['revoked', 'revoked'])
      }
      const { old, answer, state } = attempts.at(-1)!
      const unwaited = { ...state, passwordChangedAt: asked.at(-1)! }
      expect(
        old.map((claims) => judgeToken(claims, unwaited)),
        'without the wait',
      ).to.include('live')
      expect(await now()).to.be.at.least(state.passwordChangedAt!)
      if (answer.body['token']) expect(judgeToken(claimsOf(answer), state)).to.equal('live')
    })
  }

  for (const [name, act] of Object.entries(deletions)) {
    it(`is refused after ${name}, which waits for nothing`, async () => {
      const { old, state } = await actAtOnce(act)

      expect(old.map((claims) => judgeToken(claims, state))).to.deep.equal(['deleted', 'deleted'])
      expect(waits).to.deep.equal([])
    })
  }

  it('is refused also where a change itself gave it out', async () => {
    const outcomes = new Set<string>()
    await eventually('an act in the second of the token', async () => {
      await secondBegins()
      const user = await buildUser(identity)
      const claims = claimsOf(await answered(endSessions(user, { ...callerOf(user), tokenIssuedAt: 1 })))
      await answered(asAdmin('POST', `${user.id}/sessions/end`))
      outcomes.add(judgeToken(claims, await stateOf(user)))
      return waits.length > 0
    })

    expect([...outcomes]).to.deep.equal(['revoked'])
  })

  it('is there only where it can be: who signed in earlier is waited for by no change, and neither is a stranger', async () => {
    const old = { tokenIssuedAt: secondOf(await now()) - 5 }
    const from = await now()
    for (const act of [changePassword, endSessions, reset, recover]) {
      const user = await buildUser(identity)
      const em = identity.deps.orm.em.fork()
      const signIn = { userId: user.id, signedInAt: new Date(from - 5_000), method: 'password', network: '' } as const
      await em.persist(em.create(SignIn, signIn)).flush()
      await answered(logIn(await buildUser(identity)))
      await answered(act(user, { ...callerOf(user), ...old }))

      expect((await stateOf(user)).passwordChangedAt).to.be.within(from, await now())
    }
    const users = await Promise.all(Array.from({ length: 20 }, () => buildUser(identity)))
    for (const { id } of users) {
      await answered(identity.call('POST', `/api/admin/users/${id}/reset-password`, { as: 'operator' }))
    }

    expect(waits).to.deep.equal([])
  })

  for (const [name, act] of Object.entries({ changePassword, reset, recover })) {
    it(`is accepted from none of twenty logins a second that race with ${name}; without the wait some would be`, async () => {
      let unwaited = 0
      for (let round = 0; round < 20 && (round < 4 || unwaited === 0); round += 1) {
        const user = await buildUser(identity)
        const stop = new AbortController()
        const issued: TokenClaims[] = []
        const racing = Array.from({ length: 4 }, () => logInRepeatedly(user, issued, stop.signal))
        await eventually('the first login', () => issued.length > 0)
        // On a busy machine the logins of an account may keep a change waiting for too long.
        await eventually(
          'the change',
          async () => (await act(user, { ...callerOf(user), tokenIssuedAt: 1 })).status === 200,
        )
        const state = await stateOf(user)
        stop.abort()
        await Promise.all(racing)

        const liveAfter = (passwordChangedAt: number | null) =>
          issued.filter((claims) => judgeToken(claims, { ...state, passwordChangedAt }) === 'live').length
        expect(liveAfter(state.passwordChangedAt)).to.equal(0)
        unwaited += liveAfter(asked.pop() ?? state.passwordChangedAt)
      }

      expect(unwaited).to.be.greaterThan(0)
    })
  }

  /** `issued` gets the tokens. The password is the old one. */
  async function logInRepeatedly(user: User, issued: TokenClaims[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await logIn(user)
      if (answer.status === 200) issued.push(claimsOf(answer))
      await pause(200)
    }
  }
})

/** Over a pool of ten connections, as a process has them. */
describe('waits for the next second', () => {
  /** Its database's clock stands still, and its waits end with `held`. */
  async function startWaiting() {
    const held = Promise.withResolvers<void>()
    const time = Date.now()
    let waiting = 0
    const databaseTime: TestIdentity['deps']['databaseTime'] = async (_, afterMs = 0) => {
      if (afterMs === 0) return time
      waiting += 1
      await held.promise
      return time + afterMs
    }
    const identity = await startTestIdentity({ connections: 10, overrides: { databaseTime } })
    return { identity, held, second: secondOf(time), waiting: () => waiting }
  }

  it('are two at a time in a process: a further change is of the next second at once, and revokes as exactly', async () => {
    const { identity, held, second, waiting } = await startWaiting()
    await using _ = identity
    using _release = { [Symbol.dispose]: () => held.resolve() }
    const users = await Promise.all(Array.from({ length: 6 }, () => buildUser(identity)))
    const changes = users.map(async (user) => {
      const body = { currentPassword: testPassword, newPassword }
      const as = { ...callerOf(user), tokenIssuedAt: second }
      return await answered(identity.call('POST', '/api/users/@me/change-password', { as, body }))
    })

    await eventually('four of six are answered', async () => {
      const sql = 'select 1 from users where password_changed_at is not null'
      return (await identity.deps.orm.em.fork().execute<unknown[]>(sql)).length === 4
    })
    expect(waiting()).to.equal(2)
    held.resolve()
    await Promise.all(changes)

    for (const user of users) {
      const state = accountStateOf(await readUser(identity, user.id))
      expect(state.passwordChangedAt).to.equal((second + 1) * 1000)
      expect(judgeToken({ iat: second }, state)).to.equal('revoked')
    }
  })

  it('keep nobody waiting but the account: neither other acts of the admin nor those of another admin', async () => {
    const { identity, held, waiting } = await startWaiting()
    await using _ = identity
    using _release = { [Symbol.dispose]: () => held.resolve() }
    const [admin, another] = [
      await buildUser(identity, { isAdmin: true }),
      await buildUser(identity, { isAdmin: true }),
    ]
    const [user, ...others] = [await buildUser(identity), await buildUser(identity), await buildUser(identity)]
    const act = (as: User, { id }: User, path: string) =>
      identity.call('POST', `/api/admin/users/${id}/${path}`, { as })
    const logIn = () =>
      identity.call('POST', '/api/auth/login', { body: { username: user.username, password: testPassword } })
    await answered(logIn())

    const suspension = answered(act(admin, user, 'suspend'))
    await eventually('the suspension waits', () => waiting() === 1)
    await answered(act(admin, others[0], 'reset-password'))
    await answered(act(admin, others[1], 'suspend'))
    await answered(act(another, others[1], 'unsuspend'))
    // The last one: it is refused when it has waited for the length of a lock's limit.
    const login = logIn()
    await eventually('a login of the account waits', () => countLockWaits(identity.deps))
    held.resolve()

    expect((await suspension).body).to.include({ suspendedReason: null })
    expect((await login).body).to.include({ code: 'account_suspended' })
  })
})

const callerOf = ({ id, username }: User): TestCaller => ({ id, username })
