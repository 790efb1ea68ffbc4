import { endpointTable } from '@gatehouse/contracts'
import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { InstanceSettings, type User } from '@gatehouse/domain'
import { countLockWaits, eventually, type TestCaller } from '@gatehouse/test-kit'
import { buildUser, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { mailTo } from './mail.ts'
import { testPassword } from './quick-hasher.ts'

const newPassword = 'a better password'
const secondsLater = 2_000

type Table = typeof endpointTable
/** Every endpoint of identity that changes something in the name of a caller; uploads.test.ts has `upload`. */
type JudgedEndpoint = Exclude<
  {
    [N in keyof Table]: Table[N] extends { service: 'identity'; access: 'bearer' | 'admin' }
      ? Table[N]['method'] extends 'GET'
        ? never
        : N
      : never
  }[keyof Table],
  'upload'
>

/** Requests whose token was judged before a revocation, and that are acted upon after it. */
describe('a caller is judged again when the request is acted upon', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity({ config: { mail: mailTo({ port: 1 }) } })
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(() => void (identity.hasher.beforeWork = async () => undefined))

  /** The caller as the gateway named it now: later changes of the account are not in it. */
  const heldCaller = (user: User): TestCaller => ({
    id: user.id,
    username: user.username,
    isAdmin: user.isAdmin,
    tokenIssuedAt: Math.floor(identity.clock.now() / 1000),
  })
  const federated = () => buildUser(identity, { username: `fed_${Math.random()}@home`, homeInstance: 'home.example' })
  const answerOf = ({ status, body }: TestResponse) => [status, body['error']]
  const revoked = [401, 'Token has been revoked']
  const deleted = [401, 'This account has been deleted']
  const reset = async (target: User) =>
    expect(
      (await identity.call('POST', `/api/admin/users/${target.id}/reset-password`, { as: admin })).status,
    ).to.equal(200)
  const changePassword = (as: TestCaller, password = newPassword) => {
    const body = { newPassword: password, currentPassword: testPassword }
    return identity.call('POST', '/api/users/@me/change-password', { as, body })
  }
  const setRole = (as: TestCaller, target: User, isAdmin: boolean) =>
    identity.call('PATCH', `/api/admin/users/${target.id}/role`, { as, body: { isAdmin } })

  it('an admin whose password was reset meanwhile makes nobody an admin', async () => {
    const [stolen, accomplice] = [await buildUser(identity, { isAdmin: true }), await buildUser(identity)]
    const held = heldCaller(stolen)
    identity.clock.advance(secondsLater)
    await reset(stolen)

    expect(answerOf(await setRole(held, accomplice, true))).to.deep.equal(revoked)
    expect((await readUser(identity, accomplice.id)).isAdmin).to.equal(false)
  })

  it('a stolen token of a federated account does not replace the password that was changed against it', async () => {
    const victim = await federated()
    const held = heldCaller(victim)
    identity.clock.advance(secondsLater)
    expect((await changePassword(heldCaller(victim))).status).to.equal(200)

    expect(answerOf(await changePassword(held, "the thief's password"))).to.deep.equal(revoked)
    expect(await bcrypt.compare(newPassword, (await readUser(identity, victim.id)).passwordHash)).to.equal(true)
  })

  it('an admin who lost the role meanwhile changes no settings', async () => {
    const former = await buildUser(identity, { isAdmin: true })
    const held = heldCaller(former)
    expect((await setRole(admin, former, false)).status).to.equal(200)
    const patch = { as: held, body: { instanceName: 'taken over' } }

    expect((await identity.call('PATCH', '/api/settings/instance', patch)).status).to.equal(403)
    const settings = await identity.deps.orm.em.fork().findOneOrFail(InstanceSettings, { id: 1 })
    expect(settings.instanceName).to.not.equal('taken over')
  })

  it('holds for every change, of the own account and of others', async () => {
    const target = await buildUser(identity)
    const key = { id: 'a', rawId: 'a', type: 'public-key' }
    const bodies = (user: User): Record<JudgedEndpoint, object | undefined> => ({
      patchSelf: { bio: 'changed' },
      changePassword: { newPassword, currentPassword: testPassword },
      verifyPassword: { password: testPassword },
      endSessions: { password: testPassword },
      setEmail: { email: 'me@mail.example', password: testPassword },
      removeEmail: { password: testPassword },
      renewToken: undefined,
      exportData: { password: testPassword },
      deleteSelf: { username: user.username, password: testPassword },
      putRegistry: { registry: [], updatedAt: 1 },
      deleteFederationIdentity: { origins: ['https://away.example'], mode: 'soft' },
      federationCredential: { origin: 'https://away.example' },
      attachProof: { targetDomain: 'away.example' },
      reattach: { token: 'a'.repeat(64) },
      beginSecondFactor: { password: testPassword },
      confirmSecondFactor: { code: '123456' },
      renewRecoveryCodes: { password: testPassword, code: '123456' },
      endSecondFactor: { password: testPassword, code: '123456' },
      beginPasskey: { password: testPassword },
      addPasskey: { name: 'phone', response: { ...key, response: { clientDataJSON: 'a', attestationObject: 'a' } } },
      removePasskey: { password: testPassword },
      unlinkIdentity: { password: testPassword },
      removeSecondFactor: undefined,
      setRole: { isAdmin: true },
      resetPassword: undefined,
      createRecoveryLink: undefined,
      suspendUser: {},
      unsuspendUser: undefined,
      endUserSessions: undefined,
      deleteUser: undefined,
      patchSettings: { instanceName: 'changed' },
      approveRegistration: undefined,
      denyRegistration: {},
      restoreRegistration: undefined,
      decideRegistrations: { ids: [target.id], decision: 'approve' },
    })
    const changes = (user: User) =>
      Object.entries(bodies(user)).map(([name, body]) => {
        const { method, path } = endpointTable[name as JudgedEndpoint]
        return [method, path.replace(':id', target.id), body] as const
      })
    identity.federation.proof = { outcome: 'valid', homeUserId: 'h1', username: 'eve' }
    const ended = [
      { expected: revoked, overrides: { passwordChangedAt: identity.clock.now() + 1_000 } },
      { expected: deleted, overrides: { isDeleted: true } },
    ]
    for (const { expected, overrides } of ended) {
      const user = await buildUser(identity, { isAdmin: true, ...overrides })
      const detached = { detachedHomeInstance: 'away.example', federationHomeOrphaned: true }
      const reattaching = await buildUser(identity, { ...detached, ...overrides })
      for (const [method, path, body] of changes(user)) {
        const caller = path === endpointTable.reattach.path ? reattaching : user
        const answer = await identity.call(method, path, { as: heldCaller(caller), ...(body && { body }) })
        expect(answerOf(answer), `${method} ${path}`).to.deep.equal(expected)
      }
    }
    expect((await readUser(identity, target.id)).stateVersion).to.equal(1)
  })

  describe('also when the revocation commits while a password waits to be hashed:', () => {
    /** Resets the account's password, two seconds later, when its request reaches the hasher. */
    const resetMeanwhile = (user: User) => {
      identity.hasher.beforeWork = async () => {
        identity.hasher.beforeWork = async () => undefined
        identity.clock.advance(secondsLater)
        await reset(user)
      }
    }

    it('change-password', async () => {
      for (const user of [await buildUser(identity), await buildUser(identity, { isAdmin: true })]) {
        const held = heldCaller(user)
        resetMeanwhile(user)
        expect(answerOf(await changePassword(held))).to.deep.equal(revoked)
      }
    })

    it("an admin's reset", async () => {
      const [stolen, target] = [await buildUser(identity, { isAdmin: true }), await buildUser(identity)]
      const held = heldCaller(stolen)
      resetMeanwhile(stolen)

      const answer = await identity.call('POST', `/api/admin/users/${target.id}/reset-password`, { as: held })

      expect(answerOf(answer)).to.deep.equal(revoked)
      expect((await readUser(identity, target.id)).passwordChangedAt).to.equal(null)
    })

    it('deletion of the own account, and verify-password', async () => {
      for (const [method, path] of [
        ['DELETE', ''],
        ['POST', '/verify-password'],
      ] as const) {
        const user = await buildUser(identity)
        const held = heldCaller(user)
        resetMeanwhile(user)
        const body = { username: user.username, password: testPassword }

        const answer = await identity.call(method, `/api/users/@me${path}`, { as: held, body })

        expect(answerOf(answer)).to.deep.equal(revoked)
        expect((await readUser(identity, user.id)).isDeleted).to.equal(false)
      }
    })

    it('login, which verified the former password', async () => {
      const user = await buildUser(identity)
      resetMeanwhile(user)
      const body = { username: user.username, password: testPassword }

      expect((await identity.call('POST', '/api/auth/login', { body })).status).to.equal(401)
    })
  })

  it('waits for a revocation that is about to commit', async () => {
    const [stolen, accomplice] = [await buildUser(identity, { isAdmin: true }), await buildUser(identity)]
    const held = heldCaller(stolen)
    const { orm } = identity.deps
    let acting: Promise<TestResponse> | undefined
    await orm.em.fork().transactional(async (em) => {
      const later = identity.clock.now() + secondsLater
      await em.execute('update users set password_changed_at = ? where id = ?', [later, stolen.id])
      acting = setRole(held, accomplice, true)
      await eventually('the act waits', async () => (await countLockWaits({ orm })) > 0)
    })

    expect(answerOf(await acting!)).to.deep.equal(revoked)
  })

  it('lets one of two admins who act on each other at once succeed, and never answers 500', async () => {
    for (const [method, path] of [
      ['POST', '/reset-password'],
      ['DELETE', ''],
    ] as const) {
      const pair = [await buildUser(identity, { isAdmin: true }), await buildUser(identity, { isAdmin: true })] as const
      const held = pair.map(heldCaller)
      identity.clock.advance(secondsLater)

      const answers = await Promise.all([
        identity.call(method, `/api/admin/users/${pair[1].id}${path}`, { as: held[0]! }),
        identity.call(method, `/api/admin/users/${pair[0].id}${path}`, { as: held[1]! }),
      ])

      expect(answers.map(({ status }) => status).toSorted(), method).to.deep.equal([200, 401])
    }
  })
})
