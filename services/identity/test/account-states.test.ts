import { judgeToken } from '@gatehouse/authority'
import { applyAccountStates, userSuspended, userUnsuspended, type ToldState } from '@gatehouse/contracts'
import { accountStateOf, type User } from '@gatehouse/domain'
import { answered, countLockWaits, eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { buildPeer, buildStub, buildUser, cacheState, callerOf, collectEvents, readUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const [origin, host] = ['https://home.example', 'home.example']

/** Contract: 7, Account states. */
describe('What a home tells of its accounts', () => {
  let identity: TestIdentity
  let admin: User
  let user: User
  let made = 0
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { isAdmin: true })
  })
  after(() => identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    made += 1
    user = await buildUser(identity, { username: `mia_${made}@${host}`, homeInstance: host, homeUserId: `h${made}` })
  })

  const tell = async (state: ToldState['state'], ts: number, more: Partial<ToldState> = {}, from = host) => {
    const states = [{ homeUserId: `h${made}`, state, ts, ...more }]
    return await identity.deps.bus.request(applyAccountStates, { origin, host: from, states }, { timeoutMs: 9_000 })
  }
  const logIn = async (password: string = testPassword) => {
    const { status, body } = await identity.call('POST', '/api/auth/login', {
      body: { username: user.username, password },
    })
    return [status, body['code'] ?? null]
  }
  const unsuspend = () => identity.call('POST', `/api/admin/users/${user.id}/unsuspend`, { as: admin })
  const execute = (sql: string) => identity.deps.orm.em.fork().execute(sql, [user.id])
  const refused = [403, 'account_suspended_by_home']

  it('ends all sessions before the answer, and refuses logins with the right password until it is lifted', async () => {
    await using events = await collectEvents(identity, [userSuspended, userUnsuspended])
    await cacheState(identity, user)
    const token = { iat: callerOf(identity, user.id).tokenIssuedAt }
    const before = await logIn()
    const wrong = await logIn('a wrong password')

    const reply = await tell('suspended', 10)
    const cached = await identity.deps.accountStateCache.find(user.id)
    const during = [await logIn(), await logIn('a wrong password')]
    await tell('active', 11)

    expect([before, reply]).to.deep.equal([[200, null], { unknown: [] }])
    expect(judgeToken(token, cached)).to.equal('revoked')
    expect(judgeToken(token, accountStateOf(user))).to.equal('live')
    expect(during).to.deep.equal([refused, wrong])
    expect(await logIn()).to.deep.equal([200, null])
    const told = (await events.ofUser(user.id, 2)).map(({ name, payload }) => [name, payload['actor']])
    expect(told).to.deep.equal([
      ['UserSuspended', null],
      ['UserUnsuspended', null],
    ])
    const { body } = await answered(identity.call('GET', `/api/admin/users/${user.id}`, { as: admin }))
    const audit = body['audit'] as { action: string; actorId: null; actorUsername: string }[]
    expect(audit.map(({ action, actorId, actorUsername }) => [action, actorId, actorUsername])).to.deep.equal([
      ['user.unsuspended-by-home', null, origin],
      ['user.suspended-by-home', null, origin],
    ])
  })

  it('is entered twenty times at most for an account within a day, however often it changes', async () => {
    const entered = async () => {
      const [row] = await identity.deps.orm.em
        .fork()
        .execute<{ count: number }[]>('select count(*)::int as count from audit_log where target_id = ?', [user.id])
      return row?.count
    }
    const alternate = async (from: number) => {
      for (let ts = from; ts < from + 22; ts += 1) await tell(ts % 2 ? 'active' : 'suspended', ts)
    }

    await alternate(100)
    const first = await entered()
    const state = await readUser(identity, user.id)
    identity.clock.advance(24 * 60 * 60 * 1000)
    await tell('suspended', 200)

    expect([first, await entered()]).to.deep.equal([20, 21])
    expect(state).to.include({ homeStateAt: 121, homeSuspendedAt: null })
  })

  it('counts by its own time: what is repeated, or older than the last one, changes nothing', async () => {
    await tell('suspended', 10)
    const suspended = await readUser(identity, user.id)
    await tell('suspended', 10)
    await tell('active', 10)
    await tell('active', 9)
    await tell('suspended', -5)
    const unchanged = await readUser(identity, user.id)
    await tell('active', 20)
    await tell('suspended', 15)

    expect(unchanged).to.deep.equal(suspended)
    expect(await readUser(identity, user.id)).to.include({ homeSuspendedAt: null, homeStateAt: 20 })
  })

  it('is independent of a suspension here: the home lifts its own alone, an admin here lifts both', async () => {
    await tell('suspended', 10)
    await execute("update users set suspended_at = 1, suspended_reason = 'spam' where id = ?")
    await tell('active', 11)
    const byUs = await logIn()
    await tell('suspended', 12)
    const both = await logIn()
    const { body } = await answered(unsuspend())
    const lifted = await logIn()
    await tell('suspended', 12)
    const repeated = await logIn()
    await tell('suspended', 13)

    expect([byUs, both]).to.deep.equal([
      [403, 'account_suspended'],
      [403, 'account_suspended'],
    ])
    expect(body).to.include({ suspendedAt: null, homeSuspendedAt: null })
    expect([lifted, repeated]).to.deep.equal([
      [200, null],
      [200, null],
    ])
    expect(await logIn()).to.deep.equal(refused)
  })

  it('is about its own accounts alone', async () => {
    const own = await buildUser(identity, { homeUserId: null })
    const former = { detachedHomeInstance: host, formerHomeUserId: 'former', federationHomeOrphaned: true }
    const detached = await buildUser(identity, former)
    const gone = await buildUser(identity, { homeInstance: host, homeUserId: 'gone', isDeleted: true })
    const before = await Promise.all([user, own, detached, gone].map(({ id }) => readUser(identity, id)))

    const replies = [
      await tell('suspended', 10, {}, 'evil.example'),
      await tell('suspended', 10, { homeUserId: own.id }),
      await tell('suspended', 10, { homeUserId: 'former' }),
      await tell('suspended', 10, { homeUserId: 'gone' }),
    ]
    const after = await Promise.all([user, own, detached, gone].map(({ id }) => readUser(identity, id)))

    expect(replies.map(({ unknown }) => unknown)).to.deep.equal([[`h${made}`], [own.id], ['former'], ['gone']])
    expect(after).to.deep.equal(before)
    expect(await tell('suspended', 10)).to.deep.equal({ unknown: [] })
    expect((await readUser(identity, user.id)).homeSuspendedAt).to.be.a('number')
  })

  it('stays with an account that loses its home, until an admin here lifts it', async () => {
    await tell('suspended', 10)
    await execute(`update users set home_instance = null, home_user_id = null, former_home_instance = '${host}',
      former_home_user_id = 'x', federation_home_orphaned = true where id = ?`)
    const link = await identity.call('POST', `/api/admin/users/${user.id}/recovery-link`, { as: admin })
    const detached = await logIn()
    await answered(unsuspend())

    expect([link.status, link.body['code'], detached]).to.deep.equal([409, 'target_suspended', refused])
    expect(await logIn()).to.deep.equal([200, null])
  })

  it('holds for a stub: nobody registers over it', async () => {
    const stub = await buildStub(identity, { username: `zoe_${made}@${host}`, homeUserId: `z${made}` })
    const register = async () => {
      const body = { username: stub.username, password: testPassword, homeInstance: host, homeUserId: stub.homeUserId }
      return (await identity.call('POST', '/api/auth/register', { body })).status
    }
    await tell('suspended', 10, { homeUserId: `z${made}` })
    const while_ = await register()
    await tell('active', 11, { homeUserId: `z${made}` })

    expect([while_, await register()]).to.deep.equal([409, 200])
  })

  it('holds for a stub that is suspended while somebody registers over it', async () => {
    const registerDuring = async (change: string) => {
      const stub = await buildStub(identity, { username: `ida_${made}_${change.length}@${host}` })
      const body = { username: stub.username, password: testPassword, homeInstance: host }
      const registering = await identity.deps.orm.em.fork().transactional(async (em) => {
        await em.execute(`update users set ${change} where id = ?`, [stub.id])
        const register = identity.call('POST', '/api/auth/register', { body })
        await eventually('the registration waits', async () => (await countLockWaits(identity.deps)) > 0)
        return { register }
      })
      const { status } = await registering.register
      return [status, (await readUser(identity, stub.id)).isStub()]
    }

    expect(await registerDuring('home_suspended_at = 1')).to.deep.equal([409, true])
    expect(await registerDuring("status = 'offline'")).to.deep.equal([200, false])
  })

  it('is shown to admins in the list and at the account, and to nobody else', async () => {
    await tell('suspended', 10)
    const friend = await buildUser(identity)
    const find = async (query: string) =>
      (await identity.call('GET', `/api/admin/users?${query}`, { as: admin })).body['users'] as User[]

    const [found] = await find(`suspended=true&q=${user.username}`)
    const seen = await identity.call('GET', `/api/users/${user.id}`, { as: friend })

    expect(found?.homeSuspendedAt).to.equal((await readUser(identity, user.id)).homeSuspendedAt)
    expect(seen.body).to.not.have.any.keys('homeSuspendedAt', 'suspendedAt')
    expect(await find(`suspended=true&q=${friend.username}`)).to.deep.equal([])
  })

  it('leaves nothing at a tombstone', async () => {
    await tell('suspended', 10)
    await answered(identity.call('DELETE', `/api/admin/users/${user.id}`, { as: admin }))

    expect(await readUser(identity, user.id)).to.include({ homeSuspendedAt: null, homeStateAt: null, isDeleted: true })
  })
})

/** Contract: 5, suspend; 7, Account states. */
describe('What peers are told of a suspension here', () => {
  let identity: TestIdentity
  let admin: User
  const peers = { active: 'https://a.example', away: 'https://b.example', revoked: 'https://c.example' }
  const replicatedInstances = Object.values(peers).map((named) => ({ origin: named, username: 'x' }))
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { isAdmin: true })
    await buildPeer(identity, peers.active)
    await buildPeer(identity, peers.away, 'unreachable')
    await buildPeer(identity, peers.revoked, 'revoked')
    await buildPeer(identity, 'https://unnamed.example')
  })
  after(() => identity[Symbol.asyncDispose]())

  type Queued = { origin: string; version: number }
  const act = (user: User, what: 'suspend' | 'unsuspend') =>
    answered(identity.call('POST', `/api/admin/users/${user.id}/${what}`, { as: admin }))
  const queued = async ({ id }: User) => {
    const sql = `select origin, version::float8 as version from federation_deliveries
      join peers on peers.id = peer_id where user_id = ? order by origin`
    return await identity.deps.orm.em.fork().execute<Queued[]>(sql, [id])
  }

  it('is queued with it, for the peers that the account names and that were not revoked', async () => {
    const user = await buildUser(identity, { replicatedInstances })
    await act(user, 'suspend')
    const suspended = await queued(user)
    await act(user, 'unsuspend')

    const { suspensionChangedAt } = await readUser(identity, user.id)
    expect(suspended.map(({ origin: named }) => named)).to.deep.equal([peers.active, peers.away])
    expect(suspensionChangedAt).to.be.greaterThan(suspended[0]!.version)
    expect((await queued(user)).map(({ version }) => version)).to.deep.equal([suspensionChangedAt, suspensionChangedAt])
  })

  it('rises in time with each change, also where the clock does not, and each has a version of its own', async () => {
    const user = await buildUser(identity, { replicatedInstances })
    const times: number[] = []
    const versions: number[] = []
    for (const what of ['suspend', 'unsuspend', 'suspend', 'unsuspend'] as const) {
      await act(user, what)
      times.push((await readUser(identity, user.id)).suspensionChangedAt!)
      versions.push((await queued(user))[0]!.version)
      if (what === 'suspend') identity.clock.advance(-60_000)
    }

    for (const values of [times, versions]) {
      expect(values).to.deep.equal([...new Set(values)].toSorted((one, other) => one - other))
    }
  })

  it('is nothing of accounts that are at home elsewhere, or detached', async () => {
    const former = { detachedHomeInstance: 'a.example', formerHomeUserId: '7', federationHomeOrphaned: true }
    const detached = await buildUser(identity, { ...former, replicatedInstances })
    await act(detached, 'suspend')

    expect(await queued(detached)).to.deep.equal([])
  })
})
