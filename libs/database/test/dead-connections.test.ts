import { expect } from 'chai'
import pg from 'pg'
import { connectDatabase } from '../src/open-database.ts'
import { selectRows } from '../src/rows.ts'
import { openTestDatabase } from './harness.ts'

describe('connections that die', () => {
  it('inside a transaction give their places back', async () => {
    await using database = await openTestDatabase()
    await using opening = new AsyncDisposableStack()
    const small = opening.adopt(await connectDatabase({ url: database.url, connections: 2 }), (orm) => orm.close(true))

    // Not the ORM: within a transaction, all that it runs goes through that transaction's connection.
    const killer = opening.adopt(new pg.Client({ connectionString: database.url }), (client) => client.end())
    await killer.connect()

    const broken = Array.from({ length: 2 }, () =>
      small.em.fork().transactional(async (em) => {
        const [row] = await selectRows<{ pid: number }>(em, 'select pg_backend_pid() as pid')
        await killer.query('select pg_terminate_backend($1, 5000)', [row!.pid])
        await em.execute('select 1')
      }),
    )
    const outcomes = await Promise.allSettled(broken)

    expect(outcomes.map((outcome) => outcome.status)).to.deep.equal(['rejected', 'rejected'])
    expect(await selectRows(small.em.fork(), 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })
})
