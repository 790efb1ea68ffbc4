import { listUsersQuery } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import fc from 'fast-check'
import { listUserInstances, listUsers } from '../src/queries/list-users.ts'
import { buildUser } from './builders.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const day = (number: number) => new Date(Date.UTC(2026, 0, number))

describe('GET /api/admin/users', () => {
  let identity: TestIdentity
  let admin: User
  before(async () => {
    identity = await startTestIdentity()
    admin = await buildUser(identity, { username: 'zoe', isAdmin: true, createdAt: day(1) })
    await buildUser(identity, { username: 'under_score', displayName: '100% Real', createdAt: day(2) })
    await buildUser(identity, { username: 'underxscore', displayName: 'Back\\slash', createdAt: day(3) })
    await buildUser(identity, { username: 'bo@home.example', homeInstance: 'home.example', createdAt: day(4) })
    await buildUser(identity, { username: '!deleted:9', isDeleted: true, createdAt: day(5) })
  })
  after(async () => await identity[Symbol.asyncDispose]())

  async function names(query: string): Promise<string[]> {
    const { body } = await identity.call('GET', `/api/admin/users?${query}`, { as: admin })
    return (body.users as { username: string }[]).map((user) => user.username)
  }

  it('lists live accounts newest first, a page at a time, with the total', async () => {
    const { body } = await identity.call('GET', '/api/admin/users?page=2&pageSize=3', { as: admin })

    expect(body).to.deep.include({ total: 4, page: 2, pageSize: 3 })
    expect((body.users as { username: string }[]).map((user) => user.username)).to.deep.equal(['zoe'])
    expect(await names('')).to.deep.equal(['bo@home.example', 'underxscore', 'under_score', 'zoe'])
  })

  it('searches literally, in names and display names, ignoring case', async () => {
    expect(await names('q=UNDER_')).to.deep.equal(['under_score'])
    expect(await names('q=100%25')).to.deep.equal(['under_score'])
    expect(await names('q=back%5C')).to.deep.equal(['underxscore'])
    expect(await names('q=under')).to.deep.equal(['underxscore', 'under_score'])
    expect(await names('q=unknown')).to.deep.equal([])
  })

  it('filters by role, home and deletion', async () => {
    expect(await names('role=admin')).to.deep.equal(['zoe'])
    expect(await names('role=non-admin&homeInstance=local')).to.deep.equal(['underxscore', 'under_score'])
    expect(await names('homeInstance=HOME.example')).to.deep.equal(['bo@home.example'])
    expect((await names('showDeleted=true'))[0]).to.equal('Deleted User')
  })

  it('sorts by name or age, either way', async () => {
    expect(await names('sort=az')).to.deep.equal(['bo@home.example', 'under_score', 'underxscore', 'zoe'])
    expect((await names('sort=za'))[0]).to.equal('zoe')
    expect((await names('sort=oldest'))[0]).to.equal('zoe')
  })

  /** Contract: 5, Days. */
  it('means the days of a time zone, of UTC where it is unknown', async () => {
    const joined = '2026-03-04T23:30:00Z'
    const person = await buildUser(identity, { username: 'evening', createdAt: new Date(joined), isDeleted: false })
    const isFound = async (query: string) => (await names(query)).includes(person.username)
    const on = (date: string, tz: string) => isFound(`joinedAfter=${date}&joinedBefore=${date}&tz=${tz}`)

    expect([await on('2026-03-04', 'UTC'), await on('2026-03-05', 'UTC')]).to.deep.equal([true, false])
    expect([await on('2026-03-04', 'Europe/Berlin'), await on('2026-03-05', 'Europe/Berlin')]).to.deep.equal([
      false,
      true,
    ])
    expect([await on('2026-03-04', 'Mars'), await on('2026-03-05', 'Mars')]).to.deep.equal([true, false])
    await identity.deps.orm.em.fork().execute('delete from users where id = ?', [person.id])
  })

  it('filters by the days of joining, both ends included', async () => {
    const dayOf = (count: number) => day(count).toISOString().slice(0, 10)

    expect(await names(`joinedAfter=${dayOf(3)}`)).to.deep.equal(['bo@home.example', 'underxscore'])
    expect(await names(`joinedBefore=${dayOf(2)}`)).to.deep.equal(['under_score', 'zoe'])
    expect(await names(`joinedAfter=${dayOf(2)}&joinedBefore=${dayOf(2)}`)).to.deep.equal(['under_score'])
    expect(await names(`joinedAfter=${encodeURIComponent(day(3).toISOString())}`)).to.have.length(2)
  })

  /** Contract: 5, Users. */
  it('reads unknown values as the default, and clamps pages', async () => {
    const usual = await names('')
    const unknown = ['role=king', 'sort=password_hash', 'showDeleted=maybe', 'joinedAfter=yesterday', 'page=x']
    for (const query of [...unknown, 'joinedBefore=0000-01-01', 'joinedAfter=2026-02-30', 'pageSize=', 'page=0']) {
      expect(await names(query), query).to.deep.equal(usual)
    }
    const sizes = [
      ['0', 1],
      ['-5', 1],
      ['1', 1],
      ['100', 100],
      ['101', 100],
      ['1e99', 100],
      ['none', 50],
    ] as const
    for (const [given, pageSize] of sizes) {
      const { status, body } = await identity.call('GET', `/api/admin/users?pageSize=${given}`, { as: admin })
      expect([status, body.pageSize], given).to.deep.equal([200, pageSize])
    }
  })

  it('names the home instances of live users', async () => {
    await buildUser(identity, { username: 'al@away.example', homeInstance: 'away.example', createdAt: day(0) })
    const gone = { username: '!deleted:8', homeInstance: 'gone.example', isDeleted: true, createdAt: day(0) }
    await buildUser(identity, gone)

    const { body } = await identity.call('GET', '/api/admin/users/instances', { as: admin })

    expect(body).to.deep.equal({ instances: ['away.example', 'home.example'] })
  })

  it('shows no secret', async () => {
    expect((await identity.call('GET', '/api/admin/users', { as: admin })).text).to.not.match(/password|showActivity/i)
  })
})

/** Contract: 5, Users. */
describe('The search of accounts', () => {
  type Named = { id: string; username: string; displayName: string | null }
  const letters = fc.constantFrom(...Array.from('aAbBüÜяЯ日🎉_%\\ .@1^$(*'))
  const text = (maxLength: number) => fc.array(letters, { maxLength }).map((chars) => chars.join(''))
  const displayName = fc.option(text(6), { nil: null })
  let identity: TestIdentity
  let all: Named[]
  before(async () => {
    identity = await startTestIdentity()
    const drawn = fc.sample(fc.record({ name: text(5), displayName }), { numRuns: 400, seed: 1 })
    all = drawn.map(({ name, displayName }, at) => ({
      id: String(at + 1),
      username: `${name.toLowerCase()}~${at}`,
      displayName,
    }))
    await identity.deps.orm.em.fork().execute(
      `insert into users (id, username, display_name, password_hash, created_at)
       select id, username, "displayName", '!', now() + id * interval '1 second'
       from jsonb_to_recordset(?) as named (id bigint, username text, "displayName" text)`,
      [JSON.stringify(all)],
    )
  })
  after(async () => await identity[Symbol.asyncDispose]())

  function has(name: string | null, q: string): boolean {
    const [lower, sought] = [(name ?? '').toLowerCase(), q.toLowerCase()]
    if ([...q].length >= 3) return lower.includes(sought)
    const escaped = sought.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}`, 'u').test(lower)
  }

  async function search(q: string): Promise<{ ids: string[]; totals: number[] }> {
    const found = { ids: [] as string[], totals: [] as number[] }
    let cursor: string | null | undefined
    while (cursor !== null) {
      const asked = listUsersQuery.parse({ q, pageSize: '30', cursor })
      const { users, total, nextCursor } = await listUsers(identity.deps.orm.em.fork(), asked)
      found.ids.push(...users.map(({ id }) => id))
      found.totals.push(total)
      cursor = nextCursor
    }
    return found
  }

  it('finds those, page by page, that a plain filter of all finds', async () => {
    const lengths = new Set<number>()
    const long = all.flatMap(({ displayName }) =>
      /^\S{6}$/u.test(displayName ?? '') ? [Array.from(displayName!)] : [],
    )
    const examples = [1, 2, 3, 4, 6].map((length): [string] => [long[0]!.slice(0, length).join('')])
    const asked = fc.oneof(
      text(4),
      fc.tuple(fc.constantFrom(...all), fc.nat(6), fc.nat(6)).map(([{ username, displayName }, from, length]) =>
        Array.from(displayName ?? username)
          .slice(from, from + length)
          .join(''),
      ),
    )
    await fc.assert(
      fc.asyncProperty(asked, async (given) => {
        const q = given.trim()
        const expected = all.filter(({ username, displayName }) => !q || has(username, q) || has(displayName, q))
        const { ids, totals } = await search(given)
        expect(ids).to.deep.equal(expected.map(({ id }) => id).reverse())
        expect(new Set(totals)).to.deep.equal(new Set([expected.length]))
        if (expected.length > 0 && expected.length < all.length) lengths.add([...q].length)
      }),
      { numRuns: 50, examples },
    )
    expect([...lengths]).to.include.members([1, 2, 3, 4, 6])
  })

  it('needs no extension of PostgreSQL', async () => {
    const installed = await identity.deps.orm.em.fork().execute('select extname from pg_extension')
    expect(installed).to.deep.equal([{ extname: 'plpgsql' }])
  })
})

const accounts = 50_000

/** Design: invariant 13. */
describe('The list of fifty thousand accounts', () => {
  let identity: TestIdentity
  before(async () => {
    identity = await startTestIdentity()
    for (let from = 1; from <= accounts; from += 5_000) {
      await identity.deps.orm.em.fork().execute(
        `insert into users (id, username, display_name, password_hash, created_at, home_instance, is_admin)
         select n, 'user_' || n, 'Person', '!', now() - n * interval '1 minute',
           case when n % 10000 = 7 then 'rare.example' end, n % 20000 = 3
         from generate_series(?::int, ?::int) n`,
        [from, from + 4_999],
      )
    }
    await identity.deps.orm.em.fork().execute('vacuum analyze users')
  })
  after(async () => await identity[Symbol.asyncDispose]())

  /** How many rows of users a transaction reads. */
  async function rowsRead(work: (em: EntityManager) => Promise<unknown>): Promise<number> {
    return await identity.deps.orm.em.fork().transactional(async (em) => {
      const readUntil = async () => {
        const [read] = await em.execute<{ rows: string }[]>(
          "select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'users'",
        )
        return Number(read?.rows)
      }
      const before = await readUntil()
      await work(em)
      return (await readUntil()) - before
    })
  }

  const asked = (query: object) => listUsersQuery.parse(query)
  const queries: [object, { total: number; totalIsEstimate?: true; first?: string }][] = [
    [{}, { total: accounts, totalIsEstimate: true, first: 'user_1' }],
    [{ sort: 'oldest' }, { total: accounts, totalIsEstimate: true, first: 'user_50000' }],
    [
      { sort: 'za', pageSize: 100 },
      { total: accounts, totalIsEstimate: true, first: 'user_9999' },
    ],
    [{ cursor: '30000' }, { total: accounts, totalIsEstimate: true, first: 'user_30001' }],
    [
      { cursor: '9998', sort: 'az' },
      { total: accounts, totalIsEstimate: true, first: 'user_9999' },
    ],
    [{ q: 'SER_4242' }, { total: 11, first: 'user_4242' }],
    [{ q: 'nobody has this' }, { total: 0 }],
    [{ q: 'zq' }, { total: 0 }],
    [{ q: 'us' }, { total: accounts, totalIsEstimate: true, first: 'user_1' }],
    [
      { q: 'SER_', sort: 'oldest' },
      { total: accounts, totalIsEstimate: true, first: 'user_50000' },
    ],
    [{ q: 'user_1' }, { total: 11_111, totalIsEstimate: true, first: 'user_1' }],
    [{ q: '_%\\' }, { total: 0 }],
    [
      { q: 'user', homeInstance: 'rare.example' },
      { total: 5, first: 'user_7' },
    ],
    [{ role: 'admin' }, { total: 3, first: 'user_3' }],
    [
      { homeInstance: 'rare.example', sort: 'oldest' },
      { total: 5, first: 'user_40007' },
    ],
    [{ joinedAfter: '2999-01-01' }, { total: 0 }],
  ]
  for (const [query, expected] of queries) {
    it(`reads no more than a page and ten thousand rows for ${JSON.stringify(query)}`, async () => {
      let list: Awaited<ReturnType<typeof listUsers>> | undefined
      const read = await rowsRead(async (em) => (list = await listUsers(em, asked(query))))

      const { total, totalIsEstimate, users = [] } = list ?? {}
      expect({ totalIsEstimate, first: users[0]?.username }).to.deep.equal({
        totalIsEstimate: expected.totalIsEstimate,
        first: expected.first,
      })
      expect(total).to.be.within(expected.total * 0.8, expected.total * 1.2)
      expect(read).to.be.below(20_500)
    })
  }

  it('is counted whole by a plain count, which reads all of them', async () => {
    // Neither an index-only scan nor a parallel worker is counted.
    const count = async (em: EntityManager) => {
      await em.execute('set local max_parallel_workers_per_gather = 0')
      await em.execute('select count(bio) from users')
    }
    expect(await rowsRead(count)).to.be.above(accounts - 1)
  })

  it('is gone through by cursors without a gap, and its home instances are found by steps', async () => {
    for (const q of [undefined, 'person']) {
      const seen: string[] = []
      let cursor: string | null | undefined
      while (cursor !== null && seen.length < 1_000) {
        const list = await listUsers(identity.deps.orm.em.fork(), asked({ q, cursor, pageSize: '90' }))
        seen.push(...list.users.map(({ id }) => id))
        cursor = list.nextCursor
      }
      expect(seen).to.deep.equal(Array.from({ length: seen.length }, (_, index) => String(index + 1)))
    }

    const read = await rowsRead(async (em) => expect(await listUserInstances(em)).to.deep.equal(['rare.example']))
    expect(read).to.be.below(100)
  })
})
