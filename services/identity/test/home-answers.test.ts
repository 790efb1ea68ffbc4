import { expect } from 'chai'
import { profileChanged } from '@gatehouse/contracts'
import { AuditEntry, type User } from '@gatehouse/domain'
import { buildStub, buildUser, collectEvents, readUser } from './builders.ts'
import { fakeHome } from './fake-home.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'
import { barrier } from './quick-hasher.ts'

const generic = { error: 'Invalid username or password', statusCode: 401, code: 'invalid_credentials' }
const firstPassword = 'the password of the first alice'
const laterPassword = 'the password of the later alice'
const at = { homeInstance: 'home.test' }

/** Contract: 7, Login repair. */
describe("A home's yes", () => {
  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity

  beforeEach(async () => {
    home = fakeHome({ alice: { id: '111111', password: firstPassword } })
    identity = await startTestIdentity({ overrides: { outbound: home.outbound } })
  })
  afterEach(async () => await identity[Symbol.asyncDispose]())

  const logIn = async (password: string, username = 'alice@home.test') =>
    await identity.call('POST', '/api/auth/login', { body: { username, password } })
  const register = async (homeUserId?: string) => {
    const body = { username: 'alice@home.test', password: firstPassword, ...at, homeUserId }
    return (await identity.call('POST', '/api/auth/register', { body })).body['user'] as { id: string }
  }
  const entriesOf = async ({ id: targetId }: Pick<User, 'id'>) => {
    const where = { action: 'user.home-answer-refused' as const, targetId }
    const entries = await identity.deps.orm.em.fork().find(AuditEntry, where, { orderBy: { id: 'asc' } })
    return entries.map(({ detail }) => detail)
  }
  const warnings = () =>
    identity.logLines
      .filter(({ msg }) => msg === 'home instance answered for another user')
      .map(({ userId, homeInstance, homeUserId, answeredId }) => ({ userId, homeInstance, homeUserId, answeredId }))

  it('does not count for an account of a user whose name somebody else has at home now', async () => {
    const { id } = await register('111111')
    const { passwordHash } = await readUser(identity, id)
    home.users['alice'] = { id: '222222', password: laterPassword }

    const { status, body } = await logIn(laterPassword)

    expect([status, body]).to.deep.equal([401, generic])
    expect(await readUser(identity, id)).to.include({ passwordHash, homeUserId: '111111' })
    expect(home.logins()).to.deep.equal([{ username: 'alice', password: laterPassword }])
    const ids = { homeUserId: '111111', answeredId: '222222' }
    expect(warnings()).to.deep.equal([{ userId: id, homeInstance: 'home.test', ...ids }])
    expect(await entriesOf({ id })).to.deep.equal([ids])
    expect((await logIn(firstPassword)).status).to.equal(200)
  })

  /** Contract: 7, Detached accounts. */
  it('does not count for who came before another instance was seen at that host, whatever became of the peering', async () => {
    const { id } = await register('111111')
    const { createdAt, passwordHash } = await readUser(identity, id)
    const execute = (sql: string, parameters: unknown[]) => identity.deps.orm.em.fork().execute(sql, parameters)
    await execute(`insert into peer_resets (origin, host, instance_id) values (?, 'home.test', 'the former one')`, [
      'https://home.test',
    ])
    home.users['alice'] = { id: '111111', password: laterPassword }
    const columns = [
      { seen_at: createdAt, new_instance_id: null },
      { seen_at: createdAt, new_instance_id: 'the new one' },
      { seen_at: null, new_instance_id: 'the new one' },
    ]

    const outcomes = []
    for (const { seen_at, new_instance_id } of columns) {
      await execute('update peer_resets set seen_at = ?, new_instance_id = ?', [seen_at, new_instance_id])
      outcomes.push((await logIn(laterPassword)).status)
    }
    const unchanged = await readUser(identity, id)
    await execute('update peer_resets set seen_at = ?', [new Date(createdAt.getTime() - 1)])

    expect(outcomes).to.deep.equal([401, 401, 401])
    expect(unchanged).to.include({ passwordHash })
    expect((await logIn(laterPassword)).status).to.equal(200)
  })

  it('counts for the id that the account holds', async () => {
    const { id } = await register('111111')
    home.users['alice'] = { id: '111111', password: laterPassword }
    await using events = await collectEvents(identity, [profileChanged])

    const answer = await logIn(laterPassword)

    expect([answer.status, (answer.body['user'] as User).id]).to.deep.equal([200, id])
    expect((await readUser(identity, id)).homeUserId).to.equal('111111')
    expect([await entriesOf({ id }), events.published]).to.deep.equal([[], []])
  })

  it('does not count with an id of another type, or one that cannot be stored', async () => {
    const [known, unknown] = [
      await buildUser(identity, { username: 'alice@home.test', ...at, homeUserId: '111111' }),
      await buildUser(identity, { username: 'bob@home.test', ...at }),
    ]
    const wrong = [111_111, true, ['111111'], { id: '111111' }, '', '0'.repeat(65), '1\u0000', '\ud800']

    for (const id of wrong) {
      for (const user of [known, unknown]) {
        home.answer = () => ({ status: 200, body: JSON.stringify({ token: 'at home', user: { id } }) })
        const { status, body } = await logIn(laterPassword, user.username)
        expect([id, status, body]).to.deep.equal([id, 401, generic])
      }
    }

    expect((await readUser(identity, unknown.id)).homeUserId).to.equal(null)
    expect(await entriesOf(known)).to.deep.equal(
      ['number 111111', 'boolean', 'object', 'string'].map((answeredId) => ({
        homeUserId: '111111',
        answeredId,
      })),
    )
  })

  it('gives its id to an account that holds none, with the hash, and counts for no other from then on', async () => {
    const { id } = await register()
    home.users['alice'] = { id: '333333', password: laterPassword }
    await using events = await collectEvents(identity, [profileChanged])

    const learning = await logIn(laterPassword)
    home.users['alice'] = { id: '444444', password: 'the password of a third alice' }
    const refused = await logIn('the password of a third alice')

    expect([learning.status, refused.status]).to.deep.equal([200, 401])
    expect((learning.body['user'] as User).homeUserId).to.equal('333333')
    expect((await readUser(identity, id)).homeUserId).to.equal('333333')
    expect((await events.ofUser(id, 1)).map(({ payload }) => payload['changed'])).to.deep.equal([['homeUserId']])
    expect(await entriesOf({ id })).to.deep.equal([{ homeUserId: '333333', answeredId: '444444' }])
  })

  it('does not count with an id that another live account or stub of that home holds', async () => {
    const user = await buildUser(identity, { username: 'alice@home.test', ...at })
    const stub = await buildStub(identity, { username: 'alice~1@home.test', ...at, homeUserId: '111111' })
    await buildUser(identity, { username: 'al@away.test', homeInstance: 'away.test', homeUserId: '111111' })

    const refused = await logIn(firstPassword)
    await identity.deps.orm.em.fork().execute('update users set is_deleted = true where id = ?', [stub.id])
    const accepted = await logIn(firstPassword)

    expect([refused.status, refused.body, accepted.status]).to.deep.equal([401, generic, 200])
    expect(await entriesOf(user)).to.deep.equal([{ homeUserId: null, answeredId: '111111' }])
    expect((await readUser(identity, user.id)).homeUserId).to.equal('111111')
  })

  it('gives an id to one of two accounts that learn it at once', async () => {
    const users = [
      await buildUser(identity, { username: 'alice@home.test', ...at }),
      await buildUser(identity, { username: 'alina@home.test', ...at }),
    ]
    home.users['alina'] = { id: '111111', password: firstPassword }
    const bothJudged = barrier(2)
    identity.hasher.beforeWork = async (kind) => (kind === 'hash' ? await bothJudged(kind) : undefined)

    const answers = await Promise.all(users.map(({ username }) => logIn(firstPassword, username)))

    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 401])
    const stored = await Promise.all(users.map(async ({ id }) => (await readUser(identity, id)).homeUserId))
    expect(stored.filter((id) => id !== null)).to.deep.equal(['111111'])
  })

  it('does not count where the account loses its home, or learns another id, before it is stored', async () => {
    const user = await buildUser(identity, { username: 'alice@home.test', ...at })
    const change = async (sql: string) => await identity.deps.orm.em.fork().execute(sql, [user.id])
    identity.hasher.beforeWork = async (kind) => {
      if (kind === 'hash') await change(`update users set home_user_id = '999999' where id = ?`)
    }
    const otherId = await logIn(firstPassword)
    await change('update users set home_user_id = null where id = ?')
    identity.hasher.beforeWork = async (kind) => {
      if (kind === 'hash') await change('update users set home_instance = null where id = ?')
    }
    const detached = await logIn(firstPassword)

    expect([otherId.status, detached.status]).to.deep.equal([401, 401])
    expect(await readUser(identity, user.id)).to.include({ passwordHash: user.passwordHash, homeUserId: null })
    identity.hasher.beforeWork = async () => undefined
    await change(`update users set home_instance = 'home.test' where id = ?`)
    expect((await logIn(firstPassword)).status).to.equal(200)
  })

  it('for another user is entered once for each pair of ids, and ten times at most for an account', async () => {
    const user = await buildUser(identity, { username: 'alice@home.test', ...at, homeUserId: '1' })
    const answered = Array.from({ length: 12 }, (_, index) => `9${index}`)

    for (const id of ['90', '90', ...answered]) {
      home.users['alice'] = { id, password: firstPassword }
      expect((await logIn(firstPassword)).status).to.equal(401)
    }

    expect(await entriesOf(user)).to.deep.equal(
      answered.slice(0, 10).map((answeredId) => ({ homeUserId: '1', answeredId })),
    )
    expect(warnings()).to.have.length(14)
  })
})

/** Contract: 7, Login repair. */
describe('A password that does not fit here', () => {
  const password = 'the password of alice'
  const good = 'https://good.example/api/auth/login'
  /** The name that is typed, what the account here is called, its home, and what is asked. */
  const cases: [typed: string, username: string, homeInstance: string, asked: string[]][] = [
    ['alice@good.example', 'alice@good.example', 'good.example', [good]],
    [' ALICE@Good.Example ', 'alice@good.example', 'good.example', [good]],
    ['alice@good.example:8443', 'alice@good.example:8443', 'good.example', [good]],
    [
      'alice@xn--gd-fka.example',
      'alice@xn--gd-fka.example',
      'xn--gd-fka.example',
      ['https://xn--gd-fka.example/api/auth/login'],
    ],
    ['alice@good.example', 'alice@good.example', 'home.test', []],
    ['alice@good.example.', 'alice@good.example.', 'good.example', []],
    ['alice@good.example:8443', 'alice@good.example', 'good.example', []],
    ['alice@göod.example', 'alice@göod.example', 'xn--god-rna.example', []],
    ['alice@good.example.evil.test', 'alice@good.example.evil.test', 'evil.test', []],
    ['alice@good.example.evil.test', 'alice@good.example.evil.test', 'good.example', []],
    ['alice@notgood.example', 'alice@notgood.example', 'good.example', []],
    ['alice@sub.good.example', 'alice@sub.good.example', 'good.example', []],
    ['alice@good.example', 'alice@good.example', 'sub.good.example', []],
    ['alice@good.example@home.test', 'alice@good.example@home.test', 'home.test', []],
    ['alice@', 'alice@', 'good.example', []],
    ['alice', 'alice', 'good.example', []],
  ]

  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity
  before(async () => {
    home = fakeHome({ alice: { id: '7', password } })
    identity = await startTestIdentity({ overrides: { outbound: home.outbound } })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  afterEach(async () => {
    home.asked = []
    const sql = `update users set username = '!deleted:' || id, is_deleted = true`
    await identity.deps.orm.em.fork().execute(sql)
  })

  for (const [typed, username, homeInstance, asked] of cases) {
    const outcome = asked.length > 0 ? 'goes to' : 'does not go to'
    it(`${outcome} ${homeInstance} for ${JSON.stringify(typed)}, here ${username}`, async () => {
      const user = await buildUser(identity, { username, homeInstance, homeUserId: '7' })

      const { status } = await identity.call('POST', '/api/auth/login', { body: { username: typed, password } })

      expect(home.asked.map(({ url }) => url)).to.deep.equal(asked)
      expect(home.logins()).to.deep.equal(asked.map(() => ({ username: 'alice', password })))
      const isKept = (await readUser(identity, user.id)).passwordHash === user.passwordHash
      expect([status, isKept]).to.deep.equal(asked.length > 0 ? [200, false] : [401, true])
    })
  }
})
