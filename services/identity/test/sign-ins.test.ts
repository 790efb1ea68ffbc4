import type { SignInMethod } from '@gatehouse/contracts'
import { SignIn, type User } from '@gatehouse/domain'
import { answered, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { startRetention } from '../src/operations/retention.ts'
import { turnOn } from './authenticator.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const day = 24 * 60 * 60 * 1000
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

/** Contract: 3, Sign-ins. */
describe('Sign-ins', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())

  type Listed = { id: string; signedInAt: number; method: SignInMethod; network: string; device: string | null }
  const list = async (as: Pick<User, 'id' | 'username'>) => {
    const { body } = await answered(identity.call<{ signIns: Listed[] }>('GET', '/api/users/@me/sign-ins', { as }))
    return body.signIns
  }
  const logIn = async ({ username }: User, given: object = {}, headers: Record<string, string> = {}) =>
    await identity.call('POST', '/api/auth/login', { headers, body: { username, password: testPassword, ...given } })
  /** Older by a minute each. */
  async function insertSignIns({ id: userId }: User, count: number, newestAt = identity.clock.now()): Promise<void> {
    await identity.deps.orm.em.fork().execute(
      `insert into sign_ins (user_id, signed_in_at, method, network)
       select ?, to_timestamp((?::float8 - n * 60000) / 1000), 'password', n::text from generate_series(?, 1, -1) n`,
      [userId, newestAt, count],
    )
  }

  it('are told newest first: when, how, from which network and device, and nothing that tells more', async () => {
    const user = await buildUser(identity)
    await answered(logIn(user, {}, { 'user-agent': firefox }))
    identity.clock.advance(1_000)
    const app = await turnOn(identity, user)
    await answered(logIn(user, { code: app.code() }, { 'user-agent': 'curl/8' }))

    const found = await list(user)

    const now = identity.clock.now()
    expect(found.map(({ id: _, ...rest }) => rest)).to.deep.equal([
      { signedInAt: now, method: 'second_factor', network: '127.0.0.0/24', device: null },
      { signedInAt: now - 1_000, method: 'password', network: '127.0.0.0/24', device: 'Firefox · Linux' },
    ])
    expect((await identity.call('GET', '/api/users/@me/sign-ins')).status).to.equal(401)
    expect(await list(await buildUser(identity))).to.deep.equal([])
  })

  it('begin with the registration, and one is a recovery', async () => {
    const body = { username: 'newcomer', password: testPassword }
    const { body: registered } = await answered(identity.call('POST', '/api/auth/register', { body }), 201)
    const user = registered['user'] as User
    const admin = await buildUser(identity, { isAdmin: true })
    const path = `/api/admin/users/${user.id}/recovery-link`
    const { body: link } = await answered(identity.call('POST', path, { as: admin }), 201)
    const token = new URL(String(link['url'])).hash.slice(1)
    await answered(identity.call('POST', '/api/auth/recover', { body: { token, newPassword: 'a new password' } }))

    expect((await list(user)).map(({ method }) => method)).to.deep.equal(['recovery', 'registration'])
  })

  it('are none where no token is issued, nor where one takes the place of an own one', async () => {
    const user = await buildUser(identity)
    await turnOn(identity, user)
    await answered(logIn(user, { password: 'wrong' }), 401)
    await answered(logIn(user), 401)
    await answered(logIn(user, { code: '000000' }), 401)
    const { id, username } = user
    const ended = identity.call('POST', '/api/users/@me/sessions/end', { as: user, body: { password: testPassword } })
    await answered(ended)

    expect(await list({ id, username })).to.deep.equal([])
  })

  it('are at most 200 of an account: each login removes what is older, and waits for no other login', async () => {
    const [user, other] = [await buildUser(identity), await buildUser(identity)]
    await insertSignIns(user, 203)
    await insertSignIns(other, 200)
    const em = identity.deps.orm.em.fork()
    await em.transactional(async () => {
      await em.execute('select id from sign_ins where user_id = ? order by id limit 3 for update', [user.id])

      const answers = await Promise.all(Array.from({ length: 16 }, () => untilAvailable(() => logIn(user))))

      expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 16 }, () => 200))
    })
    await answered(logIn(user))

    const left = await identity.deps.orm.em.fork().find(SignIn, { userId: user.id }, { orderBy: { id: 'desc' } })
    expect(left).to.have.length.within(200, 210)
    expect((await list(user)).map(({ id }) => id)).to.deep.equal(left.slice(0, 200).map(({ id }) => id))
    expect(await list(other)).to.have.length(200)
  })

  it('end after 90 days, however many they are', async () => {
    const user = await buildUser(identity)
    const em = identity.deps.orm.em.fork()
    await insertSignIns(user, 2_500, identity.clock.now() - 90 * day)
    await insertSignIns(user, 3, identity.clock.now() - 90 * day + 4 * 60_000)
    expect(await em.count(SignIn, { userId: user.id })).to.equal(2_503)

    await using sweep = startRetention(identity.deps)
    await sweep.runNow()

    expect(await em.count(SignIn, { userId: user.id })).to.equal(3)
  })
})
