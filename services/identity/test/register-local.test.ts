import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { avatarColors, inviteRedeemed, userCreated } from '@gatehouse/contracts'
import { Invite, InviteRedemption, User, accountStateOf } from '@gatehouse/domain'
import { systemRandom } from '@gatehouse/runtime'
import { createTokenKey, verifyToken } from '@gatehouse/auth'
import { untilAvailable } from '@gatehouse/test-kit'
import { buildInvite, buildUser, collectEvents, readInvite, readUser, setGates } from './builders.ts'
import { startTestIdentity, type TestResponse, type TestIdentity } from './harness.ts'
import { barrier, testPassword } from './quick-hasher.ts'

describe('Registration of local accounts', () => {
  let identity: TestIdentity
  let names = 0

  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    identity.hasher.beforeWork = async () => undefined
    await setGates(identity, { registrationOpen: null, federatedRegistrationOpen: true })
  })

  const freshName = () => `name_${(names += 1)}`
  const register = async (given: object = {}): Promise<TestResponse> =>
    await identity.call('POST', '/api/auth/register', {
      body: { username: freshName(), password: testPassword, ...given },
      headers: { 'x-request-id': 'register-1' },
    })
  const refusalOf = ({ status, body }: TestResponse) => [status, body['error']]
  const closed = [403, 'Registration is closed. An invite is required.']
  const unusable = [403, 'Invalid or expired invite']

  it('answers 201 with a token and the own view of a new account that is offline', async () => {
    await using events = await collectEvents(identity, [userCreated])
    const answer = await register({ username: '  Ada_1 ', displayName: '  Ada L.  ', avatarColor: 'teal' })
    const user = answer.body['user'] as Record<string, unknown>

    expect(answer.status).to.equal(201)
    expect(user).to.include({ username: 'ada_1', displayName: 'Ada L.', avatarColor: 'teal', status: 'offline' })
    expect(user).to.include({ homeInstance: null, showActivity: true })
    const token = verifyToken(
      createTokenKey(identity.config.jwtSecret),
      String(answer.body['token']),
      identity.clock.now(),
    )
    expect(token).to.include({ userId: user['id'], username: 'ada_1', iat: Math.floor(identity.clock.now() / 1000) })
    const stored = await readUser(identity, String(user['id']))
    expect(stored.passwordChangedAt).to.equal(null)
    expect(await bcrypt.compare(testPassword, stored.passwordHash)).to.equal(true)
    const state = accountStateOf(stored)
    expect(await events.ofUser(stored.id, 1)).to.deep.equal([
      {
        name: 'UserCreated',
        payload: { userId: stored.id, at: identity.clock.now(), state, origin: 'local' },
        requestId: 'register-1',
      },
    ])
  })

  it('ignores a homeUserId, whatever it is: only a federated registration has one', async () => {
    for (const homeUserId of ['x'.repeat(65), 42, {}, '']) {
      const body = { username: `local_${Math.random().toString(36).slice(2, 12)}`, password: testPassword, homeUserId }
      const answer = await identity.call<{ user: object }>('POST', '/api/auth/register', { body })

      expect(answer.status).to.equal(201)
      expect(answer.body.user).to.include({ homeUserId: null })
    }
  })

  it('Registration 1: takes names of 3 to 32 letters, digits and underscores, and no others', async () => {
    const refused = ['ab', 'a'.repeat(33), 'two words', 'ada@home.example', 'ädä', 'a-b', 'a.b', '!deleted:1', '']
    const answers = await Promise.all(refused.map((username) => register({ username })))

    expect(answers.map(({ status }) => status)).to.deep.equal(refused.map(() => 400))
    expect((await register({ username: 'a1_' })).status).to.equal(201)
    expect((await register({ username: 'z'.repeat(32) })).status).to.equal(201)
  })

  it('takes passwords from 8 code points to 72 bytes', async () => {
    const statusOf = async (password: unknown) => (await register({ password })).status

    expect(await statusOf('1234567')).to.equal(400)
    expect(await statusOf('\u{1f511}'.repeat(7))).to.equal(400)
    expect(await statusOf('\u{1f511}'.repeat(8))).to.equal(201)
    expect(await statusOf('x'.repeat(72))).to.equal(201)
    expect(await statusOf('é'.repeat(37))).to.equal(400)
    expect(await statusOf(undefined)).to.equal(400)
    expect(await statusOf(12345678)).to.equal(400)
    expect(refusalOf(await register({ password: 'x'.repeat(73) }))[1]).to.contain('72 bytes')
  })

  it('refuses text that cannot be stored with 400: NUL and lone surrogates', async () => {
    const raw = (password: string) =>
      identity.call('POST', '/api/auth/register', { body: `{"username":"${freshName()}","password":"${password}"}` })

    expect((await raw('12345678\\u0000')).status).to.equal(400)
    expect((await raw('12345678\\ud800')).status).to.equal(400)
    expect((await register({ displayName: 'a\0b' })).status).to.equal(400)
  })

  it('picks a color when none or an unknown one is requested, and null for an empty display name', async () => {
    for (const avatarColor of [undefined, 'purple', 7, null]) {
      const { body, status } = await register({ avatarColor, displayName: '   ' })
      expect(status).to.equal(201)
      expect(avatarColors).to.include((body['user'] as Record<string, never>)['avatarColor'])
      expect(body['user']).to.include({ displayName: null })
    }
    expect((await register({ displayName: 'x'.repeat(33) })).status).to.equal(400)
  })

  it('picks the avatar color at random from all of the list, unless one is requested', async () => {
    const asked: number[] = []
    const below = (limit: number) => asked.push(limit) - 1
    await using drawing = await startTestIdentity({ random: { ...systemRandom, below } })
    const colorOf = async (given: object = {}) => {
      const body = { username: freshName(), password: testPassword, ...given }
      const answer = await drawing.call('POST', '/api/auth/register', { body })
      return (answer.body['user'] as { avatarColor: string }).avatarColor
    }
    const colors: string[] = []
    for (const _ of avatarColors) colors.push(await colorOf())

    expect(colors).to.deep.equal(avatarColors)
    expect(await colorOf({ avatarColor: 'rose' })).to.equal('rose')
    expect(asked).to.deep.equal(avatarColors.map(() => avatarColors.length))
  })

  it('Registration 3: the setting decides over the local gate, else the environment', async () => {
    await using shut = await startTestIdentity({
      databaseUrl: identity.databaseUrl,
      config: { registrationOpen: false },
    })
    const attempt = async () =>
      (await shut.call('POST', '/api/auth/register', { body: { username: freshName(), password: testPassword } }))
        .status

    expect(await attempt()).to.equal(403)
    await setGates(identity, { registrationOpen: true })
    expect(await attempt()).to.equal(201)
    await setGates(identity, { registrationOpen: false })
    expect((await register()).status).to.equal(403)
  })

  it('Registration 4: a closed gate requires an invite, redeems it with the account and publishes that', async () => {
    await setGates(identity, { registrationOpen: false })
    const invite = await buildInvite(identity, { maxUses: 2 })
    await using events = await collectEvents(identity, [inviteRedeemed])

    expect(refusalOf(await register())).to.deep.equal(closed)
    expect(refusalOf(await register({ inviteToken: '' }))).to.deep.equal(closed)
    const { status, body } = await register({ username: 'invited', inviteToken: invite.token })

    expect(status).to.equal(201)
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(1)
    const [redemption] = await identity.deps.orm.em.fork().find(InviteRedemption, { inviteId: invite.id })
    const { id: userId } = body['user'] as { id: string }
    expect(redemption).to.include({ registrantUsername: 'invited', userId })
    expect(await events.ofUser(userId, 1)).to.deep.equal([
      {
        name: 'InviteRedeemed',
        payload: { inviteId: invite.id, name: invite.name, at: identity.clock.now(), userId, usedCount: 1 },
        requestId: 'register-1',
      },
    ])
    expect(JSON.stringify(events.published)).to.not.include(invite.token)
  })

  it('Registration 4: an unusable invite is refused before anything is hashed', async () => {
    await setGates(identity, { registrationOpen: false })
    const past = new Date(identity.clock.now() - 1)
    const ended = [{ revokedAt: past }, { expiresAt: past }, { maxUses: 1, usedCount: 1 }]
    const invites = await Promise.all(ended.map((overrides) => buildInvite(identity, overrides)))
    const hashedBefore = identity.hasher.hashed

    for (const inviteToken of [...invites.map(({ token }) => token), 'unknown', 7, { $ne: null }, ['x'], true]) {
      expect(refusalOf(await register({ inviteToken }))).to.deep.equal(unusable)
    }
    expect(identity.hasher.hashed).to.equal(hashedBefore)
  })

  it('Registration 4: an open gate neither checks nor redeems an invite', async () => {
    const invite = await buildInvite(identity)

    expect((await register({ inviteToken: invite.token })).status).to.equal(201)
    expect((await register({ inviteToken: 'nonsense' })).status).to.equal(201)
    expect((await register({ inviteToken: { not: 'even text' } })).status).to.equal(201)
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(0)
  })

  it('Registration 6: neither gate keeps an existing account from logging in', async () => {
    const local = await buildUser(identity)
    const federated = await buildUser(identity, { username: 'eve@home.example', homeInstance: 'home.example' })
    await setGates(identity, { registrationOpen: false, federatedRegistrationOpen: false })

    for (const { username } of [local, federated]) {
      const answer = await identity.call('POST', '/api/auth/login', { body: { username, password: testPassword } })
      expect(answer.status).to.equal(200)
    }
  })

  it('Registration 7: the two gates are independent', async () => {
    const federated = () => register({ username: `${freshName()}@home.example`, homeInstance: 'home.example' })
    const rows = []
    for (const registrationOpen of [true, false]) {
      for (const federatedRegistrationOpen of [true, false]) {
        await setGates(identity, { registrationOpen, federatedRegistrationOpen })
        rows.push([registrationOpen, federatedRegistrationOpen, (await register()).status, (await federated()).status])
      }
    }

    expect(rows).to.deep.equal([
      [true, true, 201, 201],
      [true, false, 201, 403],
      [false, true, 403, 201],
      [false, false, 403, 403],
    ])
  })

  it('Registration 9: a name in use is 409 before anything is hashed, however it is spelled', async () => {
    const { username } = await buildUser(identity)
    const hashedBefore = identity.hasher.hashed

    expect(refusalOf(await register({ username: ` ${username.toUpperCase()}` }))).to.deep.equal([
      409,
      'Username already taken',
    ])
    expect(identity.hasher.hashed).to.equal(hashedBefore)
  })

  it('Registration 9: of sixteen concurrent registrations of one name one succeeds and the others are 409', async () => {
    identity.hasher.beforeWork = barrier(16)

    const answers = await Promise.all(
      Array.from({ length: 16 }, () => untilAvailable(() => register({ username: 'wanted' }))),
    )

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([201, ...Array<number>(15).fill(409)])
    expect(await identity.deps.orm.em.fork().count(User, { username: 'wanted' })).to.equal(1)
  })

  it('Registration 11: an invite revoked while the password is hashed admits no account', async () => {
    await setGates(identity, { registrationOpen: false })
    const invite = await buildInvite(identity)
    identity.hasher.beforeWork = async () => {
      const revoked = { revokedAt: new Date(identity.clock.now()) }
      await identity.deps.orm.em.fork().nativeUpdate(Invite, { id: invite.id }, revoked)
    }

    expect(refusalOf(await register({ username: 'too_late', inviteToken: invite.token }))).to.deep.equal(unusable)
    expect(await identity.deps.orm.em.fork().count(User, { username: 'too_late' })).to.equal(0)
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(0)
  })

  it('Registration 11: the last use of an invite goes to one of sixteen', async () => {
    await setGates(identity, { registrationOpen: false })
    const invite = await buildInvite(identity, { maxUses: 3, usedCount: 2 })
    identity.hasher.beforeWork = barrier(16)

    const answers = await Promise.all(
      Array.from({ length: 16 }, () => untilAvailable(() => register({ inviteToken: invite.token }))),
    )

    expect(answers.filter(({ status }) => status === 201)).to.have.length(1)
    expect(answers.filter((answer) => refusalOf(answer)[1] === unusable[1])).to.have.length(15)
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(3)
  })

  it('Registration 11: registrations that lose the name leave the invite unused', async () => {
    await setGates(identity, { registrationOpen: false })
    const invite = await buildInvite(identity, { maxUses: 10 })
    const given = { username: 'contested', inviteToken: invite.token }

    identity.hasher.beforeWork = barrier(8)

    const answers = await Promise.all(Array.from({ length: 8 }, () => untilAvailable(() => register(given))))

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([201, ...Array<number>(7).fill(409)])
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(1)
    expect(await identity.deps.orm.em.fork().count(InviteRedemption, { inviteId: invite.id })).to.equal(1)
  })
})
