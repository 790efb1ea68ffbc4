import bcrypt from 'bcrypt'
import { expect } from 'chai'
import { userCreated } from '@gatehouse/contracts'
import { User, accountStateOf } from '@gatehouse/domain'
import { OutboundFailure, type Outbound } from '@gatehouse/outbound'
import { countLockWaits, eventually, untilAvailable } from '@gatehouse/test-kit'
import {
  buildInvite,
  buildStub,
  cacheState,
  collectEvents,
  buildUser,
  readInvite,
  readUser,
  setGates,
} from './builders.ts'
import { startTestIdentity, type TestResponse, type TestIdentity } from './harness.ts'
import { barrier, testPassword } from './quick-hasher.ts'

/** The home of every stub gives no answer. */
const silentHome: Outbound = {
  request: () => Promise.reject(new OutboundFailure('unreachable', 'nobody answers')),
  [Symbol.asyncDispose]: async () => undefined,
}

describe('Registration of federated accounts', () => {
  let identity: TestIdentity
  let names = 0

  before(async () => void (identity = await startTestIdentity({ overrides: { outbound: silentHome } })))
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    identity.hasher.beforeWork = async () => undefined
    await setGates(identity, { registrationOpen: null, federatedRegistrationOpen: true })
  })

  const freshName = () => `fed_${(names += 1)}`
  const register = async (given: object = {}, requestId = 'test'): Promise<TestResponse> =>
    await identity.call('POST', '/api/auth/register', {
      body: { username: `${freshName()}@home.example`, password: testPassword, homeInstance: 'home.example', ...given },
      headers: { 'x-request-id': requestId },
    })
  const refusalOf = ({ status, body }: TestResponse) => [status, body['error']]
  const userOf = ({ body }: TestResponse) => body['user'] as Record<string, unknown> & { id: string }
  const statusesOf = (answers: TestResponse[]) => answers.map(({ status }) => status).toSorted()

  /** Contract: 3, register. */
  it('stores the home and the id there, in lower case, and never makes an admin', async () => {
    const given = { username: ' Bob@Other.Example ', homeInstance: 'HOME.Example', homeUserId: '77' }
    await using events = await collectEvents(identity, [userCreated])

    const answer = await register(given)

    expect(answer.status).to.equal(201)
    expect(userOf(answer)).to.include({ username: 'bob@other.example', homeInstance: 'home.example', homeUserId: '77' })
    expect(userOf(answer)).to.include({ isAdmin: false, status: 'offline' })
    const state = accountStateOf(await readUser(identity, userOf(answer).id))
    const [event] = await events.ofUser(state.userId, 1)
    expect(event!.payload).to.deep.equal({ userId: state.userId, at: identity.clock.now(), state, origin: 'federated' })
  })

  it('takes a null or empty homeInstance for a local registration, which stores no id at home', async () => {
    for (const homeInstance of [null, '']) {
      const answer = await register({ username: freshName(), homeInstance, homeUserId: '78' })
      expect(answer.status).to.equal(201)
      expect(userOf(answer)).to.include({ homeInstance: null, homeUserId: null })
    }
  })

  it('Registration 2: requires name@domain within its lengths; plain names are for natives', async () => {
    const domain = 'd'.repeat(100 - 4)
    const refused = [
      'plain',
      'ab@home.example',
      'a-b@home.example',
      // The suffix of a stub.
      'erin~1@home.example',
      'abc@',
      '@home',
      'abc@a@b',
      'abc@ho me',
      `abc@${domain}x`,
    ]

    const answers = await Promise.all(refused.map((username) => register({ username })))

    expect(answers.map(({ status }) => status)).to.deep.equal(refused.map(() => 400))
    expect((await register({ username: `abc@${domain}` })).status).to.equal(201)
    expect((await register({ username: `${'a'.repeat(32)}@h_o-m.e` })).status).to.equal(201)
    expect((await register({ username: `${'a'.repeat(33)}@home` })).status).to.equal(400)
  })

  it('refuses homes that are no host names, and this instance itself', async () => {
    for (const homeInstance of ['a/b', 'a:80', 'a b', 'ü.example', '[::1]', 'x'.repeat(254), 7, {}]) {
      expect((await register({ homeInstance })).status).to.equal(400)
    }
    for (const homeInstance of ['here.example', 'HERE.example', 'here.example.']) {
      expect((await register({ homeInstance })).status).to.equal(400)
    }
  })

  it('Registration 5: only its own gate decides, and no invite opens it', async () => {
    const stub = await buildStub(identity, { homeUserId: 'gated' })
    const invite = await buildInvite(identity)
    await setGates(identity, { registrationOpen: true, federatedRegistrationOpen: false })
    const closed = [403, 'Federated registration is closed on this instance']

    expect(refusalOf(await register({ inviteToken: invite.token }))).to.deep.equal(closed)
    expect(refusalOf(await register({ homeUserId: 'gated' }))).to.deep.equal(closed)
    await setGates(identity, { registrationOpen: false, federatedRegistrationOpen: true })
    expect((await register({ homeUserId: 'gated', inviteToken: invite.token })).status).to.equal(200)
    expect((await register({ inviteToken: invite.token })).status).to.equal(201)
    expect((await readInvite(identity, invite.id)).usedCount).to.equal(0)
    expect((await readUser(identity, stub.id)).isStub()).to.equal(false)
  })

  it('Registration 10: a stub becomes the account, same id, and what is missing is filled in', async () => {
    const stub = await buildStub(identity, { homeUserId: 'h1', displayName: null, avatarColor: null })
    await cacheState(identity, stub)
    await using events = await collectEvents(identity, [userCreated])
    const given = { username: 'chosen@home.example', homeUserId: 'h1', displayName: 'Cho', avatarColor: 'rose' }

    const answer = await register(given, 'upgrade-1')

    const stored = await readUser(identity, stub.id)
    expect(answer.status).to.equal(200)
    expect(userOf(answer)).to.include({
      id: stub.id,
      username: 'chosen@home.example',
      displayName: 'Cho',
      avatarColor: 'rose',
    })
    expect(await bcrypt.compare(testPassword, stored.passwordHash)).to.equal(true)
    expect(stored.passwordChangedAt).to.equal(null)
    const state = accountStateOf(stored)
    expect(state).to.include({ version: stub.stateVersion + 1, username: 'chosen@home.example' })
    expect(await events.ofUser(stub.id, 1)).to.deep.equal([
      {
        name: 'UserCreated',
        payload: { userId: stub.id, at: identity.clock.now(), state, origin: 'stub_upgrade' },
        requestId: 'upgrade-1',
      },
    ])
    expect(await identity.deps.accountStateCache.find(stub.id)).to.include({ version: stub.stateVersion + 1 })
  })

  it('Registration 10: what a stub has stays, and a color is picked when none is requested', async () => {
    const kept = await buildStub(identity, { homeUserId: 'h2', displayName: 'Known', avatarColor: 'mint' })
    const bare = await buildStub(identity, { homeUserId: 'h3' })

    const first = await register({ homeUserId: 'h2', displayName: 'Other', avatarColor: 'rose' })
    const second = await register({ homeUserId: 'h3' })

    expect(userOf(first)).to.include({ id: kept.id, displayName: 'Known', avatarColor: 'mint', homeUserId: 'h2' })
    expect(userOf(second)).to.include({ id: bare.id, displayName: null })
    expect(userOf(second)['avatarColor']).to.be.a('string')
  })

  it('Registration 10: the stub may already hold the chosen name', async () => {
    const stub = await buildStub(identity, { homeUserId: 'h4' })

    expect((await register({ username: stub.username, homeUserId: 'h4' })).status).to.equal(200)
  })

  it('Registration 10: an account with a real password is 409 before anything is hashed', async () => {
    await buildUser(identity, { username: 'real@home.example', homeInstance: 'home.example', homeUserId: 'h5' })
    const hashedBefore = identity.hasher.hashed

    const text = 'Username already taken: this account exists, log in instead'
    expect(refusalOf(await register({ homeUserId: 'h5' }))).to.deep.equal([409, text])
    expect((await register({ username: 'real@else.where' })).status).to.equal(409)
    expect(identity.hasher.hashed).to.equal(hashedBefore)
  })

  it('Registration 10: a chosen name of another account is 409 and changes nothing', async () => {
    const other = await buildUser(identity, { username: 'owner@third.example', homeInstance: 'third.example' })
    const stub = await buildStub(identity, { homeUserId: 'h6' })

    const answer = await register({ username: other.username, homeUserId: 'h6' })

    expect(refusalOf(answer)).to.deep.equal([409, 'Username already taken'])
    expect((await readUser(identity, stub.id)).isStub()).to.equal(true)
  })

  describe('the lookup', () => {
    it('goes by base name when the id at home is not known, and fills it in', async () => {
      const byName = await buildStub(identity, { username: 'lena@home.example' })
      const unnamed = await buildStub(identity, { username: 'mara@home.example', homeUserId: 'm1' })

      const filled = await register({ username: 'lena@home.example', homeUserId: 'l1' })
      const found = await register({ username: 'mara@home.example' })

      expect([filled.status, userOf(filled).id, userOf(filled)['homeUserId']]).to.deep.equal([200, byName.id, 'l1'])
      expect([found.status, userOf(found).id, userOf(found)['homeUserId']]).to.deep.equal([200, unnamed.id, 'm1'])
    })

    /** Contract: 3, The federated lookup. */
    it('never finds by name an account with another id at home, or of another home', async () => {
      const namesake = await buildStub(identity, { username: 'nina@home.example', homeUserId: 'n1' })
      const elsewhere = await buildStub(identity, { username: 'nina@third.example', homeInstance: 'third.example' })

      const answer = await register({ username: 'nina@new.example', homeUserId: 'n2' })

      expect(answer.status).to.equal(201)
      expect([namesake.id, elsewhere.id]).to.not.include(userOf(answer).id)
    })

    it('prefers real accounts to stubs, and the id at home to any name', async () => {
      await buildStub(identity, { username: 'olga@home.example' })
      await buildUser(identity, { username: 'olga@other.example', homeInstance: 'home.example' })
      const known = await buildStub(identity, { username: 'something@home.example', homeUserId: 'o1' })

      expect((await register({ username: 'olga@home.example' })).status).to.equal(409)
      expect(userOf(await register({ username: 'olga_o@home.example', homeUserId: 'o1' })).id).to.equal(known.id)
    })

    it('skips deleted accounts, so that their users can register again', async () => {
      const gone = await buildUser(identity, {
        username: '!deleted:1',
        homeInstance: 'home.example',
        homeUserId: 'p1',
        isDeleted: true,
      })

      const answer = await register({ homeUserId: 'p1' })

      expect(answer.status).to.equal(201)
      expect(userOf(answer).id).to.not.equal(gone.id)
    })
  })

  describe('races', () => {
    it('let one of two upgrades of a stub succeed, the other is 409', async () => {
      const stub = await buildStub(identity, { homeUserId: 'r1' })

      identity.hasher.beforeWork = barrier(2)

      const answers = await Promise.all(Array.from({ length: 2 }, () => register({ homeUserId: 'r1' })))

      const winner = answers.find(({ status }) => status === 200)!
      expect(statusesOf(answers)).to.deep.equal([200, 409])
      expect((await readUser(identity, stub.id)).username).to.equal(userOf(winner)['username'])
    })

    it('make one account of an identity that registers eight times under different names', async () => {
      identity.hasher.beforeWork = barrier(8)

      const answers = await Promise.all(
        Array.from({ length: 8 }, () => untilAvailable(() => register({ homeUserId: 'r2' }))),
      )

      expect(statusesOf(answers)).to.deep.equal([201, ...Array<number>(7).fill(409)])
    })

    it('make one account of a base name that registers under eight domains without an id at home', async () => {
      const names = Array.from({ length: 8 }, (_, index) => `rita@d${index}.example`)
      identity.hasher.beforeWork = barrier(names.length)

      const answers = await Promise.all(names.map((username) => untilAvailable(() => register({ username }))))

      expect(statusesOf(answers)).to.deep.equal([201, ...Array<number>(7).fill(409)])
    })

    it('upgrade the stub that the relay made while the password was hashed', async () => {
      identity.hasher.beforeWork = async () => {
        identity.hasher.beforeWork = async () => undefined
        await buildStub(identity, { username: 'sara@home.example', homeUserId: 'r3' })
      }

      const answer = await register({ username: 'sara@home.example', homeUserId: 'r3' })

      expect(answer.status).to.equal(200)
      expect(await identity.deps.orm.em.fork().count(User, { homeUserId: 'r3' })).to.equal(1)
    })

    it('upgrade the stub that the relay commits between the lookup and the insert', async () => {
      const relay = identity.deps.orm.em.fork()
      await relay.begin()
      await relay.execute(
        `insert into users (id, username, password_hash, home_instance, home_user_id)
         values (2, 'tina@home.example', '!federation-replicated', 'home.example', 'r4')`,
      )

      const registering = register({ username: 'tina@home.example', homeUserId: 'r4' })
      await eventually('the insert waits for the stub', () => countLockWaits(identity.deps))
      await relay.commit()

      const answer = await registering
      expect([answer.status, userOf(answer).id]).to.deep.equal([200, '2'])
    })
  })
})
