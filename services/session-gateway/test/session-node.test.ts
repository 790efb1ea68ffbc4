import { connectDatabase, DatabaseUnavailable } from '@gatehouse/database'
import { systemRandom } from '@gatehouse/runtime'
import { eventually, openMigratedDatabase, startTcpProxy } from '@gatehouse/test-kit'
import { manualTimer } from '@gatehouse/test-kit/time'
import { expect } from 'chai'
import { registerNode } from '../src/nodes/session-node.ts'
import { timings } from '../src/policy.ts'
import { openCluster } from './harness.ts'

describe('The heartbeat of a node', () => {
  it('does not wait for a connection that went silent: the next one has another', async () => {
    await using database = await openMigratedDatabase()
    await using proxy = await startTcpProxy(database.url)
    const orm = await connectDatabase({ url: proxy.url, connections: 2 })
    await using opening = new AsyncDisposableStack()
    opening.defer(() => orm.close(true))
    const timer = manualTimer()
    const deps = { orm, random: systemRandom, timer, timings: { ...timings, nodeSilenceMs: 20_000 } }
    const node = await registerNode(deps)
    const { id } = node

    proxy.silence()
    const both = await Promise.allSettled([node.heartbeat(), node.heartbeat()])
    timer.advance(20_000)
    const freshBefore = node.isFresh()
    await node.heartbeat()
    const freshAfter = node.isFresh()
    proxy.heal()

    for (const each of both) expect(each).to.have.property('reason').that.is.instanceOf(DatabaseUnavailable)
    expect([freshBefore, freshAfter]).to.deep.equal([false, true])
    expect(node.id).to.equal(id)
  })

  it('decides whether it is ready: without one for as long as others wait before they evict it, it is not', async () => {
    await using cluster = await openCluster()
    const { node, timer } = await cluster.startNodeWithTimer()
    const ready = async () => (await (await fetch(`${node.url}/readyz?verbose`)).json()) as { ready: boolean }
    await cluster.sql('alter table session_nodes rename to renamed')

    timer.advance(timings.nodeSilenceMs)
    const without = await ready()
    await cluster.sql('alter table renamed rename to session_nodes')
    await eventually('it is ready again', async () => (await ready()).ready)

    expect(without).to.deep.include({ ready: false })
    expect(without).to.have.property('dependencies').that.deep.include({ postgres: true, heartbeat: false })
  })

  /** Contract: 8, Readiness. */
  it('may fail on a read-only database, where no other node can evict it: it stays ready', async () => {
    await using database = await openMigratedDatabase()
    const orm = await connectDatabase({ url: database.url, connections: 1 })
    await using opening = new AsyncDisposableStack()
    opening.defer(() => orm.close(true))
    const timer = manualTimer()
    const node = await registerNode({ orm, random: systemRandom, timer, timings })

    await orm.em.fork().execute('set default_transaction_read_only = on')
    timer.advance(timings.nodeSilenceMs)
    const staleBefore = !node.isFresh()
    const refused = await node.heartbeat().catch((error: unknown) => error)
    const freshAfter = node.isFresh()
    timer.advance(timings.nodeSilenceMs)
    const staleWithout = !node.isFresh()
    await node.heartbeat()

    expect(refused).to.be.instanceOf(DatabaseUnavailable).and.include({ fault: 'readOnly' })
    expect([staleBefore, freshAfter, staleWithout, node.isFresh()]).to.deep.equal([true, true, true, true])
  })
})
