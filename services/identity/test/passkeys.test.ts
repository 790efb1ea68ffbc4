import { passkeyAdded, passkeyRemoved } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { AuditEntry, Passkey, type User } from '@gatehouse/domain'
import { answered, untilAvailable } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildUser, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { createAuthenticator, type SoftwareAuthenticator } from './software-authenticator.ts'

const path = '/api/users/@me/passkeys'
const minute = 60_000

/** Contract: 3, Passkeys. */
describe('Passkeys', () => {
  let identity: TestIdentity
  let user: User
  let key: SoftwareAuthenticator
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    user = await buildUser(identity)
    key = createAuthenticator()
  })

  const refused = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
  const begin = (as = user, password: unknown = testPassword) =>
    identity.call('POST', `${path}/options`, { as, body: { password } })
  const begun = async (as = user) => (await answered(begin(as))).body
  const add = (response: object, { as = user, name = 'phone' }: { as?: User; name?: unknown } = {}) =>
    identity.call('POST', path, { as, body: { name, response } })
  const added = async (as = user, authenticator = key, name = 'phone') => {
    const { status, body } = await add(authenticator.create(await begun(as)), { as, name })
    expect(status).to.equal(201)
    return String(body['id'])
  }
  const list = async (as = user) => (await identity.call('GET', path, { as })).body['passkeys'] as object[]
  const remove = (id: string, as = user, password: unknown = testPassword) =>
    identity.call('DELETE', `${path}/${id}`, { as, body: { password } })
  const offered = async (at = identity) => (await answered(at.call('POST', '/api/auth/passkey/options'))).body
  const logIn = (response: object, at = identity) => at.call('POST', '/api/auth/passkey', { body: { response } })
  const rowsOf = (sql: string, parameters: unknown[] = []) => read(identity.deps.orm.em.fork(), sql, parameters)
  const countChallenges = async () => (await rowsOf('select from passkey_challenges')).length

  describe('adding one', () => {
    it('is for five minutes after the password, and tells everybody who listens; tokens stay', async () => {
      await using events = await collectEvents(identity, [passkeyAdded])
      const options = await begun()
      expect(options).to.deep.include({
        rp: { id: 'here.example', name: 'here.example' },
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        excludeCredentials: [],
        timeout: 5 * minute,
      })
      const { status, body } = await add(key.create(options), { name: '  my\u202e phone ' })

      expect([status, body['name'], body['lastUsedAt']]).to.deep.equal([201, 'my phone', null])
      expect(await list()).to.deep.equal([body])
      expect((await begun())['excludeCredentials']).to.deep.equal([{ type: 'public-key', id: key.credential.id }])
      const [event] = await events.ofUser(user.id, 1)
      const facts = { userId: user.id, at: identity.clock.now(), passkeyId: body['id'], name: 'my phone' }
      expect(event!.payload).to.deep.equal(facts)
      expect((await readUser(identity, user.id)).stateVersion).to.equal(1)
    })

    it('is listed to its owner alone, oldest first', async () => {
      await added(user, createAuthenticator(), 'first')
      await added(user, createAuthenticator(), 'second')

      expect((await list()).map((passkey) => 'name' in passkey && passkey.name)).to.deep.equal(['first', 'second'])
      expect(await list(await buildUser(identity))).to.deep.equal([])
    })

    it('wants the right password of a local account, a name, and a key that nobody added', async () => {
      expect(refused(await begin(user, ''))).to.deep.equal([400, 'password_required'])
      expect(refused(await begin(user, 'wrong'))).to.deep.equal([403, 'password_incorrect'])
      const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
      expect(refused(await begin(federated))).to.deep.equal([403, 'passkeys_local_only'])
      const response = key.create(await begun())
      for (const name of ['', ' ', 'x'.repeat(65), 7])
        expect(refused(await add(response, { name }))).to.deep.equal([400, 'validation_failed'])
      expect(refused(await add(response, { as: federated }))).to.deep.equal([403, 'passkeys_local_only'])
      expect((await add(response)).status).to.equal(201)
      const other = await buildUser(identity)
      expect(refused(await add(key.create(await begun(other)), { as: other }))).to.deep.equal([409, 'passkey_known'])
      expect(await list(other)).to.deep.equal([])
    })

    it('takes ten and no eleventh, also of additions at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 12 }, async () => createAuthenticator().create(await begun())),
      )
      const statuses = await Promise.all(
        answers.map(async (response) => refused(await untilAvailable(() => add(response)))),
      )

      expect(statuses.filter(([status]) => status === 201)).to.have.length(10)
      expect(statuses.filter(([status]) => status !== 201)).to.deep.equal(Array(2).fill([409, 'too_many_passkeys']))
      expect(refused(await begin())).to.deep.equal([409, 'too_many_passkeys'])
      await answered(remove((await list()).map((passkey) => 'id' in passkey && String(passkey.id))[0] as string))
      expect((await begin()).status).to.equal(200)
    })

    it('refuses what was not made here, for this account, in time, and once; and keeps nothing of it', async () => {
      const before = await countChallenges()
      const wrong: [object, string][] = [
        [key.create(await begun(), { origin: 'https://here.example:8443' }), 'passkey_response_invalid'],
        [key.create(await begun(), { rpId: 'example' }), 'passkey_response_invalid'],
        [key.create(await begun(), { isVerified: false }), 'passkey_response_invalid'],
        [{ ...key.create(await begun()), id: 'AAAA' }, 'passkey_response_invalid'],
        [key.create(await begun(await buildUser(identity))), 'passkey_challenge_invalid'],
        [key.create({ ...(await begun()), challenge: (await offered())['challenge'] }), 'passkey_challenge_invalid'],
        [key.create({ ...(await begun()), challenge: 'AAAA' }), 'passkey_challenge_invalid'],
      ]
      for (const [response, code] of wrong) expect(refused(await add(response))).to.deep.equal([400, code])
      const late = key.create(await begun())
      identity.clock.advance(5 * minute)
      expect(refused(await add(late))).to.deep.equal([400, 'passkey_challenge_invalid'])
      expect([await list(), await countChallenges()]).to.deep.equal([[], before])

      const response = key.create(await begun())
      const racers = await Promise.all(
        Array.from({ length: 16 }, async () => refused(await untilAvailable(() => add(response)))),
      )
      expect(racers.filter(([status]) => status === 201)).to.have.length(1)
      expect(racers.filter(([, code]) => code === 'passkey_challenge_invalid')).to.have.length(15)
      expect(await countChallenges()).to.equal(1)
    })

    it('refuses a challenge of the time before a change of the password', async () => {
      const response = key.create(await begun())
      const body = { currentPassword: testPassword, newPassword: 'another password' }
      expect((await identity.call('POST', '/api/users/@me/change-password', { as: user, body })).status).to.equal(200)

      expect(refused(await add(response))).to.deep.equal([400, 'passkey_challenge_invalid'])
    })
  })

  describe('logging in', () => {
    it('needs no username and no code of a second factor, and says when the key was used', async () => {
      await added()
      await identity.deps.orm.em.fork().execute('update users set second_factor = true where id = ?', [user.id])
      identity.clock.advance(minute)

      const { status, body } = await logIn(key.get(await offered()))

      expect([status, (body['user'] as User).id]).to.deep.equal([200, user.id])
      expect(body['token']).to.be.a('string')
      expect((await list())[0]).to.include({ lastUsedAt: identity.clock.now() })
      const { body: kept } = await identity.call('GET', '/api/users/@me/sign-ins', { as: user })
      expect(kept['signIns']).to.have.length(1).and.have.nested.property('[0].method', 'passkey')
    })

    it('offers everybody the same, but for the challenge', async () => {
      await added()
      const [one, other] = [await offered(), await offered()]

      expect({ ...one, challenge: '' }).to.deep.equal({
        challenge: '',
        timeout: 5 * minute,
        rpId: 'here.example',
        userVerification: 'required',
      })
      expect({ ...one, challenge: other['challenge'] }).to.deep.equal(other)
      expect(one['challenge']).to.not.equal(other['challenge'])
    })

    it('works at each origin that the operator names, whether the key was added there or not', async () => {
      const [www, other] = ['https://www.here.example', 'https://here.test']
      expect((await add(key.create(await begun(), { origin: www }))).status).to.equal(201)

      for (const origin of ['https://here.example', www, other])
        expect((await logIn(key.get(await offered(), { origin }))).status, origin).to.equal(200)
    })

    it('refuses what another page, key, account or moment answered, and keeps nothing of it', async () => {
      await added()
      const before = [await list(), await countChallenges()]
      const stranger = await buildUser(identity)
      const strangersKey = createAuthenticator()
      strangersKey.create(await begun(stranger))
      const options = await offered()
      const wrong: [object, number, string][] = [
        [key.get(options, { origin: 'https://evil.example' }), 401, 'passkey_rejected'],
        [key.get(options, { rpId: 'evil.example' }), 401, 'passkey_rejected'],
        [key.get(options, { isVerified: false }), 401, 'passkey_rejected'],
        [key.get(options, { userHandle: Buffer.from(stranger.id).toString('base64url') }), 401, 'passkey_rejected'],
        [strangersKey.get(options), 401, 'passkey_rejected'],
        [{ ...strangersKey.get(options), ...key.credential }, 401, 'passkey_rejected'],
        [key.get({ challenge: (await begun())['challenge'] }), 400, 'passkey_challenge_invalid'],
        [key.get({ challenge: 'AAAA' }), 400, 'passkey_challenge_invalid'],
        [{ ...key.credential, response: {} }, 400, 'validation_failed'],
      ]
      for (const [response, ...expected] of wrong) expect(refused(await logIn(response))).to.deep.equal(expected)
      const late = key.get(options)
      identity.clock.advance(5 * minute)
      expect(refused(await logIn(late))).to.deep.equal([400, 'passkey_challenge_invalid'])

      expect([await list(), await countChallenges()]).to.deep.equal(before)
      expect((await logIn(key.get(await offered()))).status).to.equal(200)
    })

    it('takes a challenge of one replica at another, once, from sixteen who answer it at the same moment', async () => {
      await using second = await startTestIdentity({ databaseUrl: identity.databaseUrl })
      second.clock.advance(identity.clock.now() - second.clock.now())
      await added()
      const response = key.get(await offered(second))

      const racers = Array.from({ length: 16 }, async (_, index) =>
        refused(await untilAvailable(() => logIn(response, index % 2 ? second : identity))),
      )
      const outcomes = await Promise.all(racers)

      expect(outcomes.filter(([status]) => status === 200)).to.have.length(1)
      expect(outcomes.filter(([, code]) => code === 'passkey_challenge_invalid')).to.have.length(15)
    })

    it('refuses a counter that goes back, and enters it; a key that does not count stays good', async () => {
      await added()
      expect((await logIn(key.get(await offered(), { counter: 7 }))).status).to.equal(200)
      for (const counter of [7, 3, 0])
        expect(refused(await logIn(key.get(await offered(), { counter })))).to.deep.equal([401, 'passkey_cloned'])
      expect((await logIn(key.get(await offered(), { counter: 8 }))).status).to.equal(200)

      const where = { action: 'user.passkey-cloned' as const, targetId: user.id }
      const entries = await identity.deps.orm.em.fork().find(AuditEntry, where, { orderBy: { id: 'asc' } })
      expect(entries.map(({ detail }) => detail)).to.deep.equal(
        [7, 3, 0].map((counter) => ({ passkey: 'phone', counter, counted: 7 })),
      )
      const other = await buildUser(identity)
      const uncounted = createAuthenticator()
      expect((await add(uncounted.create(await begun(other), { counter: 0 }), { as: other })).status).to.equal(201)
      for (let time = 0; time < 2; time += 1)
        expect((await logIn(uncounted.get(await offered(), { counter: 0 }))).status).to.equal(200)
    })

    it('lets a backed-up key in whose counter does not rise, and logs it: its devices may count each for itself', async () => {
      await added()
      for (const counter of [7, 7, 3, 0]) {
        const response = key.get(await offered(), { counter, isBackedUp: true })
        expect((await logIn(response)).status).to.equal(200)
      }
      expect(refused(await logIn(key.get(await offered(), { counter: 7 })))).to.deep.equal([401, 'passkey_cloned'])

      const noted = identity.logLines.filter(
        ({ userId, msg }) => userId === user.id && /did not rise/.test(String(msg)),
      )
      expect(noted.map(({ counter, counted }) => [counter, counted])).to.deep.equal([7, 3, 0].map((c) => [c, 7]))
    })

    it('is refused to suspended, federated and deleted accounts', async () => {
      await added()
      const em = identity.deps.orm.em.fork()
      await em.execute("update users set suspended_at = 1, suspended_reason = 'spam' where id = ?", [user.id])
      const suspended = await logIn(key.get(await offered()))
      expect([...refused(suspended), suspended.body['reason']]).to.deep.equal([403, 'account_suspended', 'spam'])
      await em.execute("update users set suspended_at = null, home_instance = 'home.example' where id = ?", [user.id])
      expect(refused(await logIn(key.get(await offered())))).to.deep.equal([401, 'passkey_rejected'])
      await em.execute('update users set home_instance = null where id = ?', [user.id])
      expect((await logIn(key.get(await offered()))).status).to.equal(200)

      const body = { username: user.username, password: testPassword }
      expect((await identity.call('DELETE', '/api/users/@me', { as: user, body })).status).to.equal(200)
      expect(refused(await logIn(key.get(await offered())))).to.deep.equal([401, 'passkey_rejected'])
      expect(await rowsOf('select from passkeys where user_id = ?', [user.id])).to.deep.equal([])
    })
  })

  describe('removing one', () => {
    it('takes the password and is told; the others stay', async () => {
      await using events = await collectEvents(identity, [passkeyRemoved])
      const [id, kept] = [await added(), await added(user, createAuthenticator(), 'kept')]
      const other = await buildUser(identity)
      expect(refused(await remove(id, user, ''))).to.deep.equal([400, 'password_required'])
      expect(refused(await remove(id, user, 'wrong'))).to.deep.equal([403, 'password_incorrect'])
      expect(refused(await remove(id, other))).to.deep.equal([404, 'passkey_unknown'])

      await answered(remove(id))

      expect(refused(await remove(id))).to.deep.equal([404, 'passkey_unknown'])
      expect((await list()).map((passkey) => 'id' in passkey && passkey.id)).to.deep.equal([kept])
      expect(refused(await logIn(key.get(await offered())))).to.deep.equal([401, 'passkey_rejected'])
      const told = await events.ofUser(user.id, 1)
      expect(told.map(({ payload }) => payload['passkeyId'])).to.deep.equal([id])
    })

    it('is done by a reset of an admin, and not by a change of the password or the end of all sessions', async () => {
      await added()
      identity.clock.advance(2_000)
      const newPassword = 'another password'
      const change = { as: user, body: { currentPassword: testPassword, newPassword } }
      expect((await identity.call('POST', '/api/users/@me/change-password', change)).status).to.equal(200)
      const ending = { as: user, body: { password: newPassword } }
      expect((await identity.call('POST', '/api/users/@me/sessions/end', ending)).status).to.equal(200)
      expect((await logIn(key.get(await offered()))).status).to.equal(200)

      const admin = await buildUser(identity, { isAdmin: true })
      await answered(identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin }))

      expect(refused(await logIn(key.get(await offered())))).to.deep.equal([401, 'passkey_rejected'])
    })
  })

  it('leave no challenge in a log', async () => {
    const options = await offered()
    await added()
    await logIn(key.get(options))
    await logIn(key.get(options))

    const lines = JSON.stringify(identity.logLines)
    expect(lines).to.include('/api/auth/passkey')
    expect(lines).to.not.include(String(options['challenge']).slice(-20))
  })

  it('forgets challenges that have ended when the next one is answered', async () => {
    await added()
    identity.clock.advance(6 * minute)
    const ended = await countChallenges()
    expect(ended).to.be.above(0)
    await answered(logIn(key.get(await offered())))

    expect(await countChallenges()).to.equal(1)
    expect(await identity.deps.orm.em.fork().count(Passkey, { userId: user.id })).to.equal(1)
  })
})
