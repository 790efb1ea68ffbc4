import { insertUser, openMigratedDatabase } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { claimDue } from '../src/due-work.ts'
import { changeRows } from '../src/rows.ts'

const now = Date.parse('2026-01-01T00:00:00Z')

describe('due work', () => {
  let database: AsyncDisposable & { orm: MikroORM }
  let orm: MikroORM
  let userId: string
  before(async () => {
    database = await openMigratedDatabase()
    orm = database.orm
    userId = (await insertUser({ orm })).id
    const sql = `insert into upstream_deletions (user_id, upstream, mode, given_at, next_attempt_at)
      select ?::bigint, 'upstream ' || n, case when n < 20 then 'full' else 'profile' end, ?, ?::timestamptz - n * interval '1 s'
      from generate_series(-4, 31) n`
    await changeRows(orm.em.fork(), sql, [userId, new Date(now), new Date(now)])
  })
  after(async () => await database[Symbol.asyncDispose]())

  const claim = async (at: number, most: number) => {
    const queue = { table: 'upstream_deletions', key: 'user_id, upstream', where: 'mode = ?', parameters: ['full'] }
    const returning = "replace(upstream, 'upstream ', '')::int as n"
    const rows = await claimDue<{ n: number }>(orm.em.fork(), queue, { now: at, leaseMs: 60_000, most, returning })
    return rows.map(({ n }) => n).toSorted((one, other) => other - one)
  }
  const from = (first: number, last: number) => Array.from({ length: first - last + 1 }, (_, index) => first - index)

  it('is claimed by one of many, longest due first, and again when the lease ends', async () => {
    const oldest = await claim(now, 4)
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(now, 5)))

    expect(oldest).to.deep.equal(from(19, 16))
    expect(claims.flat().toSorted((one, other) => other - one)).to.deep.equal(from(15, 0))
    expect(await claim(now + 3_999, 100)).to.deep.equal(from(-1, -3))
    expect(await claim(now + 59_999, 100)).to.deep.equal([-4])
    expect(await claim(now + 60_000, 100)).to.deep.equal(from(19, 0))
  })
})
