import { expect } from 'chai'
import { eventually, openMigratedDatabase } from '@gatehouse/test-kit'
import { loadInstanceSettings, nextId } from '../src/instance.ts'
import { connectDatabase } from '../src/open-database.ts'
import { read } from '../src/rows.ts'

const epochMs = Date.parse('2024-01-01T00:00:00Z')

describe('ids', () => {
  /** Contract: 1, Ids and times. */
  it('are 42 bits of milliseconds since 2024, the persisted worker id and a sequence', async () => {
    await using database = await openMigratedDatabase()
    const em = database.orm.em.fork()
    const { workerId } = await loadInstanceSettings(em)
    const before = Date.now()

    const id = BigInt(await nextId(em))

    // The database runs on this machine: its clock is ours.
    expect(Number(id >> 22n) + epochMs).to.be.within(before - 1, Date.now() + 1)
    expect(Number((id >> 12n) & 1023n)).to.equal(workerId)
  })

  /** Else a draw that waited for a round of the sequence could meet an id of the millisecond in which it began. */
  it('have the millisecond of their draw, however long it waits', async () => {
    await using database = await openMigratedDatabase()
    await using opening = new AsyncDisposableStack()
    const replica = opening.adopt(await connectDatabase(database), (orm) => orm.close())
    const waiting = "select 1 from pg_locks where relation = 'snowflake_sequence'::regclass and not granted"
    const before = Date.now()

    const { id, released } = await database.orm.em.fork().transactional(async (em) => {
      await em.execute('alter sequence snowflake_sequence maxvalue 4095')
      const draw = nextId(replica.em.fork())
      await eventually('a draw that waits', async () => (await em.execute(waiting)).length > 0)
      await eventually('another millisecond', () => Date.now() > before + 1)
      return { id: draw, released: Date.now() }
    })

    expect(Number(BigInt(await id) >> 22n) + epochMs).to.be.at.least(released - 1)
  })

  it('stay unique when replicas ask as fast as they can', async () => {
    await using database = await openMigratedDatabase()
    await using opening = new AsyncDisposableStack()
    const replica = opening.adopt(await connectDatabase(database), (orm) => orm.close())
    const many = 'select next_snowflake()::text as id from generate_series(1, 5000)'

    const batches = await Promise.all(
      [database.orm, replica, database.orm, replica].map((orm) => read<{ id: string }>(orm.em.fork(), many)),
    )

    const ids = batches.flat().map((row) => row.id)
    expect(new Set(ids).size).to.equal(20_000)
  })
})
