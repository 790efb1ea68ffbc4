import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { secondFactorBlocked, secondFactorChanged } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { AuditEntry, SecondFactor, type User } from '@gatehouse/domain'
import { answered, countLockWaits, eventually } from '@gatehouse/test-kit'
import { appOf, path, stepMs, turnOn, type Authenticator } from './authenticator.ts'
import { exportData } from '../src/operations/export/export-data.ts'
import { buildUser, cacheState, callerOf, collectEvents, readUser, type PublishedEvent } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'
import { readArchive } from './read-archive.ts'

const minute = 60_000

/** Contract: 3, Second factor. */
describe('The second factor', () => {
  let identity: TestIdentity
  let user: User
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => void (user = await buildUser(identity)))

  const logIn = (code?: unknown, { password = testPassword, at = identity } = {}): Promise<TestResponse> =>
    at.call('POST', '/api/auth/login', { body: { username: user.username, password, ...(code != null && { code }) } })
  const refused = ({ status, body }: TestResponse) => [status, body['code'] ?? null]
  const begin = (as = user, password: unknown = testPassword) => identity.call('POST', path, { as, body: { password } })
  const confirm = (code: unknown, as = user) => identity.call('POST', `${path}/confirm`, { as, body: { code } })
  const renew = (code: unknown, password: unknown = testPassword) =>
    identity.call('POST', `${path}/recovery-codes`, { as: user, body: { password, code } })
  const end = (code: unknown, password: unknown = testPassword) =>
    identity.call('DELETE', path, { as: user, body: { password, code } })
  const readFactor = (id = user.id) => identity.deps.orm.em.fork().findOne(SecondFactor, { userId: id })
  const isOff = ({ payload }: PublishedEvent) => payload['userId'] === user.id && payload['change'] === 'off'
  const self = async () => (await identity.call('GET', '/api/users/@me', { as: user })).body
  const failOften = async (count: number) => {
    for (let failed = 0; failed < count; failed += 1)
      expect(refused(await logIn('000000'))).to.deep.equal([401, 'second_factor_wrong'])
  }

  describe('setting it up', () => {
    it('gives a secret for an app and, once a code of it came, ten recovery codes; no token changes', async () => {
      await using events = await collectEvents(identity, [secondFactorChanged])
      await cacheState(identity, user)
      const { body } = await answered(begin())
      expect(body['secret']).to.match(/^[A-Z2-7]{32}$/)
      expect(body['otpauthUri']).to.match(
        new RegExp(`^otpauth://totp/here\\.example:${user.username}\\?secret=${String(body['secret'])}&`),
      )
      expect((await self())['secondFactor']).to.equal(false)
      expect((await logIn()).status).to.equal(200)

      const { body: confirmed } = await answered(confirm(appOf(identity, body['secret'])(0)))

      const { body: state } = await answered(identity.call('GET', path, { as: user }))
      expect(state).to.deep.equal({ since: identity.clock.now(), recoveryCodesLeft: 10 })
      const other = await buildUser(identity)
      const { body: none } = await answered(identity.call('GET', path, { as: other }))
      expect(none).to.deep.equal({ since: null, recoveryCodesLeft: 0 })
      const codes = confirmed['recoveryCodes'] as string[]
      expect(new Set(codes)).to.have.length(10)
      for (const code of codes) expect(code).to.match(/^[a-z2-9]{10}$/)
      expect((await self())['secondFactor']).to.equal(true)
      const { passwordChangedAt, sessionsEndedAt, stateVersion } = await readUser(identity, user.id)
      expect([passwordChangedAt, sessionsEndedAt, stateVersion]).to.deep.equal([null, null, 2])
      const [event] = await events.ofUser(user.id, 1)
      expect(event!.payload).to.deep.include({ change: 'on', actor: { userId: user.id, username: user.username } })
    })

    it('keeps neither the secret nor a recovery code as it is', async () => {
      const { body } = await answered(begin())
      const secret = String(body['secret'])
      const confirmed = await answered(confirm(appOf(identity, secret)(0)))

      const [row] = await read<object>(identity.deps.orm.em.fork(), 'select * from second_factors where user_id = ?', [
        user.id,
      ])
      const stored = JSON.stringify(row)
      expect(stored).to.contain('enc1.')
      for (const plain of [secret, ...(confirmed.body['recoveryCodes'] as string[])]) {
        expect(stored).to.not.contain(plain)
        expect(JSON.stringify(identity.logLines)).to.not.contain(plain)
      }
    })

    it('is refused with a wrong password, to federated accounts, while it is on, and without a fresh secret', async () => {
      expect(refused(await begin(user, ''))).to.deep.equal([400, 'password_required'])
      expect(refused(await begin(user, 'wrong'))).to.deep.equal([403, 'password_incorrect'])
      expect(refused(await confirm('123456'))).to.deep.equal([409, 'second_factor_not_waiting'])
      const { body } = await answered(begin())
      const code = appOf(identity, body['secret'])
      expect(refused(await confirm(''))).to.deep.equal([400, 'validation_failed'])
      expect(refused(await confirm(7))).to.deep.equal([400, 'validation_failed'])
      expect(refused(await confirm(code(5)))).to.deep.equal([403, 'second_factor_incorrect'])
      await answered(confirm(code(0)))
      expect(refused(await begin())).to.deep.equal([409, 'second_factor_on'])
      expect(refused(await confirm(code(1)))).to.deep.equal([409, 'second_factor_on'])

      const federated = await buildUser(identity, { username: 'may@home.example', homeInstance: 'home.example' })
      expect(refused(await begin(federated))).to.deep.equal([403, 'second_factor_local_only'])
      expect(refused(await confirm('123456', federated))).to.deep.equal([403, 'second_factor_local_only'])
    })

    it('waits ten minutes, and a second secret replaces the first', async () => {
      const first = appOf(identity, (await answered(begin())).body['secret'])
      const second = appOf(identity, (await answered(begin())).body['secret'])
      expect(refused(await confirm(first(0)))).to.deep.equal([403, 'second_factor_incorrect'])
      identity.clock.advance(10 * minute - 1)
      await answered(confirm(second(0)))

      user = await buildUser(identity)
      const late = appOf(identity, (await answered(begin())).body['secret'])
      identity.clock.advance(10 * minute)
      expect(refused(await confirm(late(0)))).to.deep.equal([409, 'second_factor_not_waiting'])
    })
  })

  describe('at login', () => {
    let app: Authenticator
    beforeEach(async () => void (app = await turnOn(identity, user)))

    it('is asked for once the password is right; a wrong password is answered as ever, after the same work', async () => {
      const generic = { error: 'Invalid username or password', statusCode: 401, code: 'invalid_credentials' }
      for (const code of [undefined, app.code(), '000000']) {
        const { status, body } = await logIn(code, { password: 'wrong' })
        expect([status, body]).to.deep.equal([401, generic])
      }
      identity.hasher.verified = []
      expect(refused(await logIn('x', { password: 'wrong' }))[1]).to.equal('invalid_credentials')
      expect(refused(await logIn())).to.deep.equal([401, 'second_factor_required'])
      expect(refused(await logIn(''))).to.deep.equal([401, 'second_factor_required'])
      expect(identity.hasher.verified).to.have.length(3)
      expect(refused(await logIn('12345'))).to.deep.equal([401, 'second_factor_wrong'])
      expect(refused(await logIn({ $gt: '' }))).to.deep.equal([400, 'validation_failed'])

      const { status, body } = await logIn(app.code())
      expect([status, (body['user'] as { secondFactor: boolean }).secondFactor]).to.deep.equal([200, true])
    })

    it('takes each code once: none of the set-up, none again, none of an earlier step', async () => {
      expect(refused(await logIn(app.code(0)))[1]).to.equal('second_factor_wrong')
      const code = app.code(1)
      expect((await logIn(code)).status).to.equal(200)
      expect(refused(await logIn(code))[1]).to.equal('second_factor_wrong')
      identity.clock.advance(2 * stepMs)
      expect(refused(await logIn(code))[1]).to.equal('second_factor_wrong')
      expect((await logIn(app.code(0))).status).to.equal(200)
      expect(refused(await logIn(app.code(-1)))[1]).to.equal('second_factor_wrong')
    })

    it('takes one step either side', async () => {
      identity.clock.advance(10 * stepMs)
      expect(refused(await logIn(app.code(-2)))[1]).to.equal('second_factor_wrong')
      expect(refused(await logIn(app.code(2)))[1]).to.equal('second_factor_wrong')
      for (const steps of [-1, 0, 1]) expect((await logIn(app.code(steps))).status, String(steps)).to.equal(200)
    })

    it('takes a recovery code once, however it is typed', async () => {
      const [first = '', second = ''] = app.codes
      expect((await logIn(first)).status).to.equal(200)
      expect(refused(await logIn(first))[1]).to.equal('second_factor_wrong')
      const typed = ` ${second.slice(0, 5).toUpperCase()}-${second.slice(5)} `
      expect((await logIn(typed)).status).to.equal(200)
      expect((await readFactor())!.recoveryCodes).to.have.length(8)
    })

    it('lets one of sixteen in who send the same code to two replicas, be it of the app or of the list', async () => {
      await using other = await startTestIdentity({ databaseUrl: identity.databaseUrl })
      other.clock.set(identity.clock.now())
      for (const code of [app.code(1), app.codes[0]]) {
        await identity.deps.orm.em.fork().nativeUpdate(SecondFactor, { userId: user.id }, { failures: [] })
        const racers = Array.from({ length: 16 }, (_, index) => logIn(code, { at: index % 2 ? other : identity }))
        const statuses = (await Promise.all(racers)).map(({ status }) => status)
        expect(statuses.filter((status) => status === 200)).to.have.length(1)
        await identity.deps.orm.em.fork().nativeUpdate(SecondFactor, { userId: user.id }, { blockedUntil: null })
      }
    })

    it('lets nobody in after ten wrong codes in fifteen minutes, for fifteen more, and tells of it', async () => {
      await using events = await collectEvents(identity, [secondFactorBlocked])
      await failOften(10)

      for (const code of ['000000', app.code(), app.codes[0]]) {
        const { status, body, headers } = await logIn(code)
        expect([status, body['code'], body['retryAfter']]).to.deep.equal([429, 'second_factor_blocked', 900])
        expect(headers.get('retry-after')).to.equal('900')
      }
      expect(refused(await logIn(app.code(), { password: 'wrong' }))[1]).to.equal('invalid_credentials')
      const at = identity.clock.now()
      expect((await events.ofUser(user.id, 1)).map(({ payload }) => payload)).to.deep.equal([
        { userId: user.id, at, until: at + 15 * minute },
      ])
      const entries = await identity.deps.orm.em.fork().find(AuditEntry, { targetId: user.id })
      expect(entries.map(({ action }) => action)).to.deep.equal(['user.second-factor-blocked'])

      identity.clock.advance(15 * minute - 1)
      expect(refused(await logIn(app.code()))[0]).to.equal(429)
      identity.clock.advance(1)
      expect((await logIn(app.code())).status).to.equal(200)
    })

    it('takes no code for anything else meanwhile: not to recover, nor to turn it off or get new codes', async () => {
      const admin = await buildUser(identity, { isAdmin: true })
      const offer = identity.call('POST', `/api/admin/users/${user.id}/recovery-link`, { as: admin })
      const token = new URL(String((await answered(offer, 201)).body['url'])).hash.slice(1)
      await failOften(10)
      const body = { token, newPassword: 'a password of my own', code: app.code() }

      const answers = await Promise.all([
        identity.call('POST', '/api/auth/recover', { body }),
        renew(app.code()),
        end(app.code()),
      ])

      expect(answers.map(refused)).to.deep.equal(Array(3).fill([429, 'second_factor_blocked']))
      expect(answers.map(({ headers }) => headers.get('retry-after'))).to.deep.equal(['900', '900', '900'])
      expect((await readFactor())!.recoveryCodes).to.have.length(10)
      expect((await readUser(identity, user.id)).passwordHash).to.equal(user.passwordHash)
      identity.clock.advance(15 * minute)
      await answered(end(app.code()))
    })

    it('counts wrong codes of the last fifteen minutes only, wherever they were entered and however many come at once', async () => {
      await failOften(9)
      identity.clock.advance(15 * minute)
      await failOften(1)
      expect(refused(await end('000000'))).to.deep.equal([403, 'second_factor_incorrect'])
      expect(refused(await renew('000000'))).to.deep.equal([403, 'second_factor_incorrect'])
      expect((await readFactor())!.failures).to.have.length(3)

      const answers = await Promise.all(Array.from({ length: 16 }, () => logIn('000000')))
      const codes = answers.map(({ body }) => body['code'])
      // A busy machine answers some of them 503.
      while (!codes.includes('second_factor_blocked')) codes.push((await logIn('000000')).body['code'])
      expect(codes.filter((code) => code === 'second_factor_wrong')).to.have.length(7)
    })

    it('stays after an admin has reset the password', async () => {
      const admin = await buildUser(identity, { isAdmin: true })
      const reset = await answered(identity.call('POST', `/api/admin/users/${user.id}/reset-password`, { as: admin }))
      const password = String(reset.body['temporaryPassword'])
      expect(refused(await logIn(undefined, { password }))[1]).to.equal('second_factor_required')
      expect((await logIn(app.code(), { password })).status).to.equal(200)
    })

    it('gives no token for a password that was changed while the code waited', async () => {
      const em = identity.deps.orm.em.fork()
      identity.hasher.beforeWork = async (kind) => {
        identity.hasher.beforeWork = async () => undefined
        if (kind === 'verify')
          await em.execute('update users set password_hash = ? where id = ?', ['$2b$04$x', user.id])
      }
      expect(refused(await logIn(app.code()))[1]).to.equal('invalid_credentials')
      expect((await readFactor())!.failures).to.deep.equal([])
    })
  })

  describe('turning it off, and new recovery codes', () => {
    let app: Authenticator
    beforeEach(async () => void (app = await turnOn(identity, user)))

    it('wants password and code', async () => {
      for (const change of [renew, end]) {
        expect(refused(await change(app.code(), ''))).to.deep.equal([400, 'password_required'])
        expect(refused(await change(app.code(), 'wrong'))).to.deep.equal([403, 'password_incorrect'])
        expect(refused(await change(undefined))).to.deep.equal([400, 'validation_failed'])
        expect(refused(await change('000000'))).to.deep.equal([403, 'second_factor_incorrect'])
      }
      expect((await readFactor())!.recoveryCodes).to.have.length(10)
      expect((await self())['secondFactor']).to.equal(true)
      user = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
      for (const change of [renew, end])
        expect(refused(await change('123456'))).to.deep.equal([403, 'second_factor_local_only'])
    })

    it('replaces the recovery codes that are left', async () => {
      const { body } = await answered(renew(app.codes[9]))
      const codes = body['recoveryCodes'] as string[]
      expect(new Set([...codes, ...app.codes])).to.have.length(20)
      expect(refused(await logIn(app.codes[0]))[1]).to.equal('second_factor_wrong')
      expect((await logIn(codes[0])).status).to.equal(200)
    })

    it('ends the question at login, changes no token, and is told', async () => {
      await using events = await collectEvents(identity, [secondFactorChanged])
      expect((await answered(end(app.code()))).body).to.deep.equal({ success: true })
      expect((await logIn()).status).to.equal(200)
      expect(await readFactor()).to.equal(null)
      expect((await self())['secondFactor']).to.equal(false)
      await eventually('the event', () => events.published.some((event) => isOff(event)))
      expect(refused(await end('123456'))).to.deep.equal([409, 'second_factor_off'])
      expect(refused(await renew('123456'))).to.deep.equal([409, 'second_factor_off'])
    })
  })

  /** Contract: 5, Second factors of others. */
  describe('by an admin', () => {
    const remove = (as: User, id = user.id) => identity.call('DELETE', `/api/admin/users/${id}/second-factor`, { as })

    it('is removed, audited and told', async () => {
      const admin = await buildUser(identity, { isAdmin: true })
      await turnOn(identity, user)
      await using events = await collectEvents(identity, [secondFactorChanged])

      expect((await answered(remove(admin))).body).to.deep.equal({ success: true })

      expect((await logIn()).status).to.equal(200)
      const actor = { userId: admin.id, username: admin.username }
      await eventually('the event', () => events.published.some((event) => isOff(event)))
      expect(events.published.find(isOff)!.payload['actor']).to.deep.equal(actor)
      const entries = await identity.deps.orm.em.fork().find(AuditEntry, { targetId: user.id })
      expect(entries.map(({ action, actorId }) => [action, actorId])).to.deep.equal([
        ['user.second-factor-removed', admin.id],
      ])
      expect(refused(await remove(admin))).to.deep.equal([409, 'second_factor_off'])
      expect(refused(await remove(admin, '1'))).to.deep.equal([404, 'user_unknown'])
      const deleted = await buildUser(identity, { isDeleted: true })
      expect(refused(await remove(admin, deleted.id))).to.deep.equal([400, 'target_deleted'])
      expect(refused(await remove(user))).to.deep.equal([403, 'admin_required'])
    })

    /** Contract: 5, Second factors of others. */
    it('is demanded of admins: without one, no admin act is taken, and no other request is refused', async () => {
      await using own = await startTestIdentity()
      const [admin, other] = [await buildUser(own, { isAdmin: true }), await buildUser(own, { isAdmin: true })]
      const plain = await buildUser(own)
      for (const account of [admin, other]) await cacheState(own, account)
      const app = await turnOn(own, admin)
      const due = async ({ id }: User) => (await own.deps.accountStateCache.find(id))?.secondFactorDue
      const promote = (as: User, target: User, isAdmin = true) =>
        own.call('PATCH', `/api/admin/users/${target.id}/role`, { as, body: { isAdmin } })
      const demand = (as: User, isDemanded: boolean) =>
        own.call('PATCH', '/api/settings/instance', { as, body: { requireSecondFactorForAdmins: isDemanded } })

      expect((await answered(demand(admin, true))).body['requireSecondFactorForAdmins']).to.equal(true)

      expect([await due(admin), await due(other)]).to.deep.equal([false, true])
      expect(refused(await promote(other, plain))).to.deep.equal([403, 'second_factor_setup_required'])
      expect((await own.call('GET', '/api/users/@me', { as: other })).status).to.equal(200)
      await answered(promote(admin, plain))
      const promoted = await readUser(own, plain.id)
      expect(promoted.secondFactorDue).to.equal(true)
      expect(refused(await promote(promoted, other, false))).to.deep.equal([403, 'second_factor_setup_required'])
      await turnOn(own, plain)
      await answered(promote(promoted, plain))
      await answered(own.call('DELETE', path, { as: admin, body: { password: testPassword, code: app.code() } }))
      expect(refused(await demand(admin, false))).to.deep.equal([403, 'second_factor_setup_required'])
      await answered(demand(promoted, false))
      expect([await due(admin), await due(other)]).to.deep.equal([false, false])
      await answered(promote(other, plain, false))
    })
  })

  /** Contract: 5, Second factors of others. */
  describe('demanded of admins', () => {
    let own: TestIdentity
    let admin: User
    before(async () => {
      own = await startTestIdentity()
      admin = await buildUser(own, { isAdmin: true })
      await turnOn(own, admin)
    })
    after(() => own[Symbol.asyncDispose]())

    const demand = (requireSecondFactorForAdmins: boolean) =>
      answered(own.call('PATCH', '/api/settings/instance', { as: admin, body: { requireSecondFactorForAdmins } }))
    const isDue = async ({ id }: User) => (await readUser(own, id)).secondFactorDue

    it('is due once a suspension ends, as the setting is then', async () => {
      const other = await buildUser(own, { isAdmin: true })
      const act = (verb: string) => answered(own.call('POST', `/api/admin/users/${other.id}/${verb}`, { as: admin }))
      const due: boolean[] = []
      for (const isDemanded of [true, false]) {
        await act('suspend')
        await demand(isDemanded)
        due.push(await isDue(other))
        await act('unsuspend')
        due.push(await isDue(other))
      }

      expect(due).to.deep.equal([false, true, true, false])
    })

    it('is due for an admin who is made one while the setting waits', async () => {
      const plain = await buildUser(own)
      const rival = own.deps.orm.em.fork()
      await rival.begin()
      await rival.execute('select 1 from users where id = ? for update', [admin.id])
      const demanded = demand(true)
      await eventually('the setting waits', () => countLockWaits(own.deps))
      await rival.execute('update users set is_admin = true where id = ?', [plain.id])
      await rival.commit()
      await demanded

      expect(await isDue(plain)).to.equal(true)
      await demand(false)
    })
  })

  it('is told by the export without its secret, and goes with the account', async () => {
    const app = await turnOn(identity, user)
    await answered(logIn(app.codes[0]))
    const caller = callerOf(identity, user.id)
    const { archive } = await exportData(identity.deps, { caller, address: '::1', password: testPassword })
    const files = await readArchive(await buffer(archive))
    expect(JSON.parse(String(files.get('second-factor.json')))).to.deep.equal([
      { userId: user.id, since: identity.clock.now(), recoveryCodesLeft: 9 },
    ])

    const body = { username: user.username, password: testPassword }
    await answered(identity.call('DELETE', '/api/users/@me', { as: user, body }))

    expect(await readFactor()).to.equal(null)
    expect((await readUser(identity, user.id)).secondFactor).to.equal(false)
  })

  it('is of a detached account too, which is bound again once it is off', async () => {
    user = await buildUser(identity, {
      username: 'ivy@lost.example',
      detachedHomeInstance: 'lost.example',
      federationHomeOrphaned: true,
    })
    identity.federation.proof = { outcome: 'valid', homeUserId: 'new', username: 'ivy' }
    const reattach = () =>
      identity.call('POST', '/api/users/@me/reattach', { as: user, body: { token: 'ab'.repeat(32) } })
    const app = await turnOn(identity, user)

    expect(refused(await reattach())).to.deep.equal([409, 'second_factor_on'])
    await answered(end(app.code()))
    await answered(reattach())
  })
})
