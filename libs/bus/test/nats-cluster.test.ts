import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, startNatsCluster, type NatsCluster } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect, type JetStreamManager } from 'nats'
import { connectNats, type Bus } from '../src/index.ts'
import { decisive } from './definitions.ts'
import { expectDelivered, openPublishingProcess, rejectionOf } from './publishing-process.ts'

const streams = ['gatehouse-events', 'gatehouse-changes'] as const

/** Contract: 8, NATS of three nodes. */
describe('The bus over three nodes of NATS', () => {
  const scope = new AsyncDisposableStack()
  const { log } = capturedLog()
  let nats: NatsCluster
  let bus: Bus
  let manager: JetStreamManager
  before(async () => {
    nats = scope.use(await startNatsCluster())
    bus = scope.use(await connectNats({ url: nats.url, name: 'cluster', log }))
    const observer = scope.adopt(await connect({ servers: nats.url.split(',') }), (nc) => nc.close())
    manager = await observer.jetstreamManager({ checkAPI: false })
  })
  after(() => scope.disposeAsync())

  const readStream = (name: string) =>
    eventually(
      name,
      async () => {
        const info = await manager.streams.info(name)
        const { leader, replicas = [] } = info.cluster ?? {}
        return leader !== undefined && replicas.length === 2 && replicas.every(({ current }) => current) ? info : null
      },
      60_000,
    )

  beforeEach(() => Promise.all(streams.map(readStream)))

  it('keeps each stream on all of them', async () => {
    const infos = await Promise.all(streams.map(readStream))
    expect(infos.map(({ config }) => config.num_replicas)).to.deep.equal([3, 3])
  })

  it('loses no acknowledged event when the leader of a stream is killed, and delivers what comes afterwards', async () => {
    await using load = await openPublishingProcess({ url: nats.url, event: decisive() })
    load.begin()
    for (const name of streams) {
      const leader = nats.nodes[await nats.leaderOf(name)]!
      await leader.kill()
      await load.publishesMore()
      await leader.start()
      await readStream(name)
    }
    await expectDelivered([load])
    expect(load.acknowledged.length).to.be.greaterThan(40)
  })

  it('completes the streams on a node that returns with an empty folder', async () => {
    const event = decisive()
    await using load = await openPublishingProcess({ url: nats.url, event })
    load.begin()
    await load.publishesMore()
    const leader = await nats.leaderOf('gatehouse-events')
    const [empty, another] = [0, 1, 2].filter((index) => index !== leader) as [number, number]
    await nats.nodes[empty]!.kill()
    await nats.deleteStore(empty)
    await nats.nodes[empty]!.start()
    await Promise.all(streams.map(readStream))
    await load.publishesMore()

    await nats.nodes[another]!.kill()
    await load.publishesMore()
    const late = new Set<number>()
    await using _group = await load.bus.subscribe(event, async ({ payload }) => void late.add(payload.n), {
      group: 'late',
    })
    await expectDelivered([load])

    await eventually('a new group gets all', () => load.acknowledged.every((n) => late.has(n)))
    await nats.nodes[another]!.start()
  })

  it('acknowledges nothing while two are away, lets a process start, and goes on when they are back', async () => {
    const event = decisive()
    const got: number[] = []
    await using _subscription = await bus.subscribe(event, async ({ payload }) => void got.push(payload.n))
    await Promise.all(nats.nodes.slice(0, 2).map((node) => node.kill()))
    await eventually('the third one is used', () => bus.ready())

    const alone = await rejectionOf(bus.publish(event, { n: 1 }, { id: randomUUID() }))
    await using started = await connectNats({ url: nats.url, name: 'started', log })
    await Promise.all(nats.nodes.slice(0, 2).map((node) => node.start()))
    const id = randomUUID()
    await eventually('it is acknowledged', () => started.publish(event, { n: 2 }, { id }).then(() => true))

    await eventually('it is delivered', () => got.includes(2))
    expect(alone).to.equal('BusUnavailable')
  })
})
