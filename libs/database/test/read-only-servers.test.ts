import { eventually, startPostgresPair, startTcpProxy, type PostgresPair } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { connectDatabase } from '../src/open-database.ts'
import { readOnlyUseMs } from '../src/policy.ts'
import { changeRows } from '../src/rows.ts'
import { transaction } from '../src/transaction.ts'
import { connectionOf, createNotes, insert, onServer, setReadOnly, statusOf, write, type Connection } from './notes.ts'

/** Contract: 8, PostgreSQL. */
const limitMs = 2_000

describe('Connections to a read-only server', () => {
  const scope = new AsyncDisposableStack()
  let pair: PostgresPair
  before(async () => {
    pair = scope.use(await startPostgresPair())
    await createNotes(pair.primary.url)
  })
  after(() => scope.disposeAsync())

  const open = async (opening: AsyncDisposableStack, url: string, connections: number) =>
    opening.adopt(await connectDatabase({ url, connections }), (orm) => orm.close(true))

  it('are not used again once it has refused a write; reads go on, and so do writes once it takes them', async () => {
    await using opening = new AsyncDisposableStack()
    const orm = await open(opening, pair.primary.url, 1)
    const before = await connectionOf(orm)
    await setReadOnly(pair.primary.url, true)

    const refused = await eventually('a write is refused', async () => {
      const status = await write(orm)
      return status !== 200 && status
    })
    const after = await connectionOf(orm)
    const inTransaction = await statusOf(transaction(orm, (em) => changeRows(em, insert)))
    await setReadOnly(pair.primary.url, false)
    await eventually('writes are right', async () => (await write(orm)) === 200)

    expect([refused, inTransaction]).to.deep.equal([503, 503])
    expect(after.pid).to.not.equal(before.pid)
  })

  it('are left, all of a pool, when a read of one has told of it', async () => {
    await using opening = new AsyncDisposableStack()
    const orm = await open(opening, pair.primary.url, 4)
    const listPids = async () => new Set((await listConnections(orm, 4)).map(({ pid }) => pid))
    const before = await listPids()
    const again = await listPids()
    const openedAt = performance.now()
    await eventually('they are older than a second', () => performance.now() - openedAt > readOnlyUseMs)

    // The pool gives the one that was used last.
    const { pid } = await connectionOf(orm)
    await setReadOnly(pair.primary.url, true)
    await eventually('that one is left', async () => (await connectionOf(orm)).pid !== pid)
    const after = await listPids()
    await setReadOnly(pair.primary.url, false)

    expect([before.size, again]).to.deep.equal([4, before])
    expect([...after].filter((each) => before.has(each))).to.deep.equal([])
  })

  it('are left within two seconds after their address has moved, although they stay open', async () => {
    await using opening = new AsyncDisposableStack()
    await using proxy = await startTcpProxy(pair.primary.url)
    const writing = await open(opening, proxy.url, 10)
    const reading = await open(opening, proxy.url, 10)
    await listConnections(writing, 10)
    await pair.failOver()
    for (const orm of [writing, reading])
      await eventually('the old primary answers', async () => (await listConnections(orm, 10)).length === 10)
    const before = await write(writing)
    const old = await onServer(pair.primary.url, sessions)

    proxy.leadTo(pair.standby.url)
    await Promise.all([
      eventually('writes are right', async () => (await write(writing)) === 200, limitMs),
      eventually('reads come from the new one', async () => !(await connectionOf(reading)).isStandby, limitMs),
    ])

    const statuses = await Promise.all(Array.from({ length: 20 }, () => write(writing)))
    expect([before, ...new Set(statuses)]).to.deep.equal([503, 200])
    const all = [...(await listConnections(writing, 10)), ...(await listConnections(reading, 10))]
    expect(all.filter(({ isStandby }) => isStandby)).to.deep.equal([])
    expect(old).to.have.length.above(10)
  })
})

const sessions = `select pid from pg_stat_activity where application_name = 'gatehouse'`

/** All connections of a pool, which are then free again. */
async function listConnections(orm: MikroORM, count: number): Promise<Connection[]> {
  const all = Promise.withResolvers<void>()
  let begun = 0
  const hold = () =>
    orm.em.fork().transactional(async (em) => {
      const connection = await connectionOf({ em })
      begun += 1
      if (begun === count) all.resolve()
      await all.promise
      return connection
    })
  return await Promise.all(Array.from({ length: count }, hold))
}
