import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, startNatsCluster } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connectNats, type Bus } from '../src/index.ts'
import { decisive } from './definitions.ts'
import { openPublishingProcess, rejectionOf } from './publishing-process.ts'

const limitMs = 120_000

/** Contract: 8, NATS of three nodes. */
describe('The bus while nodes of NATS are cut off from each other', function () {
  this.timeout(1_000_000)

  it('goes on without a leader that is cut off from the others, names it, and delivers to the group what either side published', async () => {
    await using nats = await startNatsCluster()
    const event = decisive()
    await using first = await openPublishingProcess({ url: nats.url, event })
    await eventually('the streams are complete', async () => (await first.bus.listStreamFaults()).length === 0, limitMs)
    const leader = await nats.leaderOf('gatehouse-events')
    const others = [0, 1, 2].filter((index) => index !== leader)
    await using apart = await openPublishingProcess({ url: nats.nodes[leader]!.url, event, first: 1 })
    const url = others.map((index) => nats.nodes[index]!.url).join(',')
    await using most = await openPublishingProcess({ url, event, first: 2 })
    for (const each of [apart, most]) each.begin()
    await apart.publishesMore()

    using cuts = new DisposableStack()
    for (const index of others) cuts.use(nats.cut(leader, index))
    const n = 7
    const id = randomUUID()
    const rejected = await rejectionOf(apart.bus.publish(event, { n }, { id }))
    const acknowledgedApart = apart.acknowledged.length
    await most.publishesMore()
    const namesNode = (fault: string) => fault.startsWith('gatehouse-events is ') && fault.endsWith(`node-${leader}`)
    await eventually('the others name it', async () => (await most.bus.listStreamFaults()).some(namesNode), limitMs)
    const without = 'gatehouse-events has no leader'
    await eventually('it has no leader', async () => (await apart.bus.listStreamFaults()).includes(without), limitMs)
    const acknowledgedMeanwhile = apart.acknowledged.length - acknowledgedApart
    cuts.dispose()

    await eventually('it is acknowledged', () => apart.bus.publish(event, { n }, { id }).then(() => true), limitMs)
    await apart.publishesMore()
    await eventually('nothing is lacking', async () => (await apart.bus.listStreamFaults()).length === 0, limitMs)
    for (const each of [apart, most]) each.stop()
    const published = [n, ...apart.acknowledged, ...most.acknowledged]
    const handled = () => new Set([apart, most, first].flatMap((each) => each.handled))
    await eventually('the group has all', () => published.every((each) => handled().has(each)), limitMs)
    expect([rejected, acknowledgedMeanwhile]).to.deep.equal(['BusUnavailable', 0])
  })

  it('delivers each acknowledged event to the group while two of three lack each other, and goes on afterwards', async () => {
    await using scope = new AsyncDisposableStack()
    const { log } = capturedLog()
    const nats = scope.use(await startNatsCluster())
    const event = decisive()
    const handled = new Set<number>()
    const acknowledged: number[] = []
    const open = async (index: number) => {
      const bus = scope.use(await connectNats({ url: nats.nodes[index]!.url, name: `process ${index}`, log }))
      const seen = new Set<number>()
      scope.use(await bus.subscribe(event, async ({ payload }) => void handled.add(payload.n), { group: 'of-all' }))
      scope.use(await bus.subscribe(event, async ({ payload }) => void seen.add(payload.n)))
      return { bus, seen }
    }
    const publish = async (bus: Bus) => {
      const [n, id] = [acknowledged.length, randomUUID()]
      await eventually('it is acknowledged', () => bus.publish(event, { n }, { id }).then(() => true), limitMs)
      acknowledged.push(n)
    }
    const processes = [await open(0), await open(1), await open(2)] as const
    const faults = async () => (await Promise.all(processes.map(({ bus }) => bus.listStreamFaults()))).flat()
    await eventually('the streams are complete', async () => (await faults()).length === 0, limitMs)
    const leader = await nats.leaderOf('gatehouse-events')
    const [another, third] = [0, 1, 2].filter((index) => index !== leader) as [number, number]

    const cut = scope.use(nats.cut(leader, another))
    await eventually('they say what is lacking', async () => (await faults()).length > 0, limitMs)
    for (let count = 0; count < 20; count += 1) await publish(processes[third]!.bus)
    cut[Symbol.dispose]()
    await eventually('nothing is lacking', async () => (await faults()).length === 0, limitMs)
    const before = acknowledged.length
    for (const { bus } of processes) await publish(bus)

    await eventually('the group has all', () => acknowledged.every((n) => handled.has(n)), limitMs)
    const later = acknowledged.slice(before)
    await eventually('all see the last', () => processes.every(({ seen }) => later.every((n) => seen.has(n))), limitMs)
    expect([before, later.length]).to.deep.equal([20, 3])
  })
})
