import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, startNatsCluster, type NatsCluster } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect, type JetStreamManager } from 'nats'
import { connectNats, type Bus } from '../src/index.ts'
import { counted } from './definitions.ts'

const streams = ['gatehouse-events', 'gatehouse-changes'] as const

/** Contract: 8, NATS of three nodes. */
describe('The bus over three nodes of NATS', function () {
  this.timeout(120_000)
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

  it('keeps each stream on all of them', async () => {
    const infos = await Promise.all(streams.map(readStream))
    expect(infos.map(({ config }) => config.num_replicas)).to.deep.equal([3, 3])
  })

  it('loses no acknowledged event when the leader of a stream is killed, and delivers what comes afterwards', async () => {
    const event = counted()
    const [handled, seen] = [new Set<number>(), new Set<number>()]
    const group = { group: 'cluster' }
    scope.use(await bus.subscribe(event, async ({ payload }) => void handled.add(payload.n), group))
    scope.use(await bus.subscribe(event, async ({ payload }) => void seen.add(payload.n)))
    const acknowledged = new Set<number>()
    let longestMs = 0
    let isOver = false as boolean
    const publish = async (n: number) => {
      const startedAt = performance.now()
      const id = randomUUID()
      await eventually('it is acknowledged', () => bus.publish(event, { n }, { id }).then(() => true), 60_000)
      acknowledged.add(n)
      await eventually('it is delivered', () => handled.has(n) && seen.has(n), 60_000)
      longestMs = Math.max(longestMs, performance.now() - startedAt)
    }
    const publishUntilOver = async () => {
      for (let n = 0; !isOver; n += 1) await publish(n)
    }
    const load = publishUntilOver()

    for (const name of streams) {
      const { cluster } = await readStream(name)
      const leader = nats.nodes.find((_, index) => cluster?.leader === nodeName(index))!
      const before = acknowledged.size
      await leader.kill()
      await eventually('events go on', () => acknowledged.size > before + 20, 60_000)
      await leader.start()
      await readStream(name)
    }
    isOver = true
    await load
    await eventually('all were handled', () => [...acknowledged].every((n) => handled.has(n) && seen.has(n)), 60_000)
    process.stdout.write(`longest wait ${Math.round(longestMs)} ms, ${acknowledged.size} events\n`)
    expect(acknowledged.size).to.be.greaterThan(40)
  })

  it('acknowledges nothing while two are away, lets a process start, and goes on when they are back', async () => {
    const event = counted()
    const got: number[] = []
    await using _subscription = await bus.subscribe(event, async ({ payload }) => void got.push(payload.n))
    await Promise.all(nats.nodes.slice(0, 2).map((node) => node.kill()))
    await eventually('the third one is used', () => bus.ready())

    const alone = await bus.publish(event, { n: 1 }, { id: randomUUID() }).then(
      () => 'acknowledged',
      (error: unknown) => (error as Error).name,
    )
    await using started = await connectNats({ url: nats.url, name: 'started', log })
    await Promise.all(nats.nodes.slice(0, 2).map((node) => node.start()))
    const id = randomUUID()
    await eventually('it is acknowledged', () => started.publish(event, { n: 2 }, { id }).then(() => true), 60_000)

    await eventually('it is delivered', () => got.includes(2), 60_000)
    expect(alone).to.equal('BusUnavailable')
  })

  const nodeName = (index: number) => `node-${index}`
})
