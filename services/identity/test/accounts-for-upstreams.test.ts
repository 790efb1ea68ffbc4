import { User } from '@gatehouse/domain'
import { expect } from 'chai'
import { buildStub, buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'

type Account = { id: string; username: string; displayName: string | null; isDeleted: boolean; version: number }
type Page = { accounts: Account[]; next: number; more: boolean }

/** Contract: 3, upstreams. */
describe('what upstreams are told of accounts', () => {
  let identity: TestIdentity
  before(async () => void (identity = await startTestIdentity()))
  after(() => identity[Symbol.asyncDispose]())

  const rights = ['accounts']
  const ask = (ids: unknown) => identity.call<Page>('POST', '/api/upstream/accounts', { rights, body: { ids } })
  const changes = (query: string) => identity.call<Page>('GET', `/api/upstream/accounts/changes?${query}`, { rights })
  const rename = (user: User, displayName: string) =>
    identity.deps.orm.em.fork().nativeUpdate(User, { id: user.id }, { displayName })
  const namesOf = ({ body }: TestResponse<Page>) => body.accounts.map(({ username }) => username)

  async function everythingAfter(after: number, limit = 2): Promise<Account[]> {
    const { body } = await changes(`after=${after}&limit=${limit}`)
    return body.more ? [...body.accounts, ...(await everythingAfter(body.next, limit))] : body.accounts
  }

  it('are the fields that a user sees of others, a tombstone as such, and nothing of unknown ids', async () => {
    const ada = await buildUser(identity, { displayName: 'Ada', avatar: 'a.webp', suspendedAt: 1, bio: 'private' })
    const gone = await buildUser(identity, { displayName: 'Gone', avatar: 'g.webp', isDeleted: true })
    const stub = await buildStub(identity)

    const { status, body } = await ask([ada.id, gone.id, '1', stub.id, ada.id])

    const [first, second, third] = [ada, gone, stub].map(({ id }) => body.accounts.find((one) => one.id === id)!)
    expect([status, body.accounts.length]).to.deep.equal([200, 3])
    const { version: _, ...told } = first!
    expect(told).to.deep.equal({
      id: ada.id,
      username: ada.username,
      displayName: 'Ada',
      avatar: 'a.webp',
      isDeleted: false,
    })
    expect(second).to.include({ username: 'Deleted User', displayName: null, avatar: null, isDeleted: true })
    expect(third).to.include({ username: stub.username, isDeleted: false })
    expect(body.accounts.every(({ version }) => Number.isSafeInteger(version) && version > 0)).to.equal(true)
  })

  it('come in pages, each account once by its last change, and afterwards only what changed', async () => {
    const users = [await buildUser(identity), await buildUser(identity), await buildUser(identity)] as const
    const before = await everythingAfter(0)
    const last = before.at(-1)!.version
    await rename(users[1], 'First')
    await rename(users[0], 'Second')
    const [one, other] = [await everythingAfter(last), await everythingAfter(0)]
    await identity.deps.orm.em.fork().nativeUpdate(User, { id: users[2].id }, { status: 'online', bio: 'new' })

    expect(before.map(({ id }) => id)).to.include.members(users.map(({ id }) => id))
    expect(new Set(one.map(({ id }) => id))).to.deep.equal(new Set([users[0].id, users[1].id]))
    expect(other.map(({ version }) => version)).to.deep.equal(
      other.map(({ version }) => version).toSorted((a, b) => a - b),
    )
    expect(new Set(other.map(({ id }) => id)).size).to.equal(before.length)
    expect(await everythingAfter(other.at(-1)!.version), 'what nobody is told').to.deep.equal([])
  })

  it('skip nothing that commits late, whoever began first', async () => {
    const [slow, quick] = [await buildUser(identity), await buildUser(identity)]
    const { body: start } = await changes('')
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const changed = Promise.withResolvers<void>()
    const late = identity.deps.orm.em.fork().transactional(async (em) => {
      await em.nativeUpdate(User, { id: slow.id }, { displayName: 'Late' })
      changed.resolve()
      await held
    })
    await changed.promise
    await rename(quick, 'Quick')
    const during = await changes(`after=${start.next}`)
    release()
    await late
    const afterwards = await changes(`after=${during.body.next}`)

    expect(namesOf(during)).to.include(quick.username).and.not.include(slow.username)
    expect(afterwards.body.accounts).to.have.length(1)
    expect(afterwards.body.accounts[0]).to.include({ id: slow.id, displayName: 'Late' })
    expect(afterwards.body.next).to.be.greaterThan(during.body.next)
  })

  it('have versions in the order in which they become visible, with many who ask and change at once', async () => {
    const users = await Promise.all(Array.from({ length: 5 }, () => buildUser(identity)))
    const { body: start } = await changes('')
    const told = new Map<string, string | null>()
    let isOver = false
    const writing = Promise.all(
      users.map(async (user) => {
        for (let number = 0; number < 5; number += 1) await rename(user, `No ${number}`)
      }),
    ).finally(() => (isOver = true))
    const following = Array.from({ length: 3 }, async (_, index) => {
      let after = start.next
      for (let isLast = false; !isLast;) {
        isLast = isOver
        const { body } = await changes(`after=${after}&limit=3`)
        after = body.next
        if (index === 0) for (const { id, displayName } of body.accounts) told.set(id, displayName)
        if (body.more) isLast = false
      }
    })
    await Promise.all([writing, ...following])

    expect(users.map(({ id }) => told.get(id))).to.deep.equal(users.map(() => 'No 4'))
  })

  it('begin from now on where no version is named', async () => {
    const { body: now } = await changes('')
    const user = await buildUser(identity)
    const { body } = await changes(`after=${now.next}`)

    expect([now.accounts, now.more]).to.deep.equal([[], false])
    expect(body.accounts.map(({ id }) => id)).to.include(user.id)
  })

  it('go on after the clock went back', async () => {
    await everythingAfter(0)
    const future = 9_000_000_000_000_000 - 1_000
    const user = await buildUser(identity)
    await identity.deps.orm.em
      .fork()
      .execute('update account_versions set version = ? where user_id = ?', [future, user.id])
    await rename(await buildUser(identity), 'Later')

    expect(
      (await everythingAfter(future)).map(({ displayName, version }) => [displayName, version > future]),
    ).to.deep.equal([['Later', true]])
    await identity.deps.orm.em.fork().execute('update account_versions set version = null where version >= ?', [future])
  })

  it('are refused for what is no list of ids, no version, and a version that was never given', async () => {
    const statuses = async (asked: Promise<TestResponse<Page>>[]) =>
      (await Promise.all(asked)).map(({ status, body }) => [status, (body as unknown as { code: string }).code])
    const many = Array.from({ length: 101 }, (_, index) => String(index + 1))
    const faulty = [400, 'validation_failed']

    expect(
      await statuses([ask(many), ask([]), ask(['x']), ask([7]), ask('1'), ask(['9223372036854775808'])]),
    ).to.deep.equal(Array.from({ length: 6 }, () => faulty))
    expect((await ask(many.slice(1))).status).to.equal(200)
    const cursors = ['after=-1', 'after=x', 'after=1.5', 'after=9007199254740993', 'limit=0', 'limit=1001', 'after=NaN']
    expect(await statuses(cursors.map(changes))).to.deep.equal(cursors.map(() => faulty))
    expect(await statuses([changes(`after=${Number.MAX_SAFE_INTEGER}`)])).to.deep.equal([[409, 'version_unknown']])
  })

  it('are told to upstreams with that right alone', async () => {
    const user = await buildUser(identity, { isAdmin: true })
    const codeOf = async (request: object) => {
      const paths = ['POST /api/upstream/accounts', 'GET /api/upstream/accounts/changes']
      const replies = paths.map((path) =>
        identity.call(...(path.split(' ') as [string, string]), {
          ...request,
          ...(path.startsWith('POST') && { body: { ids: [user.id] } }),
        }),
      )
      return (await Promise.all(replies)).map(({ status, body }) => `${status} ${String(body['code'])}`)
    }

    expect(await codeOf({ as: user })).to.deep.equal(['401 statement_invalid', '401 statement_invalid'])
    expect(await codeOf({ as: 'operator' })).to.deep.equal(['401 statement_invalid', '401 statement_invalid'])
    expect(await codeOf({})).to.deep.equal(['401 statement_invalid', '401 statement_invalid'])
    expect(await codeOf({ rights: ['presence'] })).to.deep.equal(['403 right_missing', '403 right_missing'])
  })
})
