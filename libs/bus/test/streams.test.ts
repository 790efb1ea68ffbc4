import { randomUUID } from 'node:crypto'
import { defineEvent } from '@gatehouse/contracts'
import { capturedLog, eventually, startNats, type LocalServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect, type JetStreamManager, type NatsConnection } from 'nats'
import { z } from 'zod'
import { connectNats } from '../src/index.ts'
import { streamBytes } from '../src/policy.ts'
import { counted, decisive } from './definitions.ts'

const renamed = defineEvent({
  name: 'Renamed',
  subject: 'event.test.renamed.v1',
  lastOf: 'userId',
  payload: z.object({ userId: z.string(), n: z.int() }),
})
const ended = defineEvent({
  name: 'Ended',
  subject: 'event.test.ended.v1',
  stream: 'events',
  payload: z.object({ n: z.int() }),
})

describe('The streams of events', () => {
  const { log } = capturedLog()
  let nats: LocalServer
  let observer: NatsConnection
  let manager: JetStreamManager

  beforeEach(async () => {
    nats = await startNats()
    observer = await connect({ servers: nats.url })
    manager = await observer.jetstreamManager({ checkAPI: false })
  })

  afterEach(async () => {
    await observer.close()
    await nats[Symbol.asyncDispose]()
  })

  const open = () => connectNats({ url: nats.url, name: 'streams', log })

  it("keep what ends sessions apart from all else, and of an account's changes of its profile the last one", async () => {
    await using bus = await open()
    for (const n of [1, 2, 3]) await bus.publish(renamed, { userId: '7', n }, { id: randomUUID() })
    await bus.publish(renamed, { userId: '8', n: 4 }, { id: randomUUID() })
    for (const n of [5, 6]) await bus.publish(ended, { n }, { id: randomUUID() })

    const [events, changes] = [
      await manager.streams.info('gatehouse-events'),
      await manager.streams.info('gatehouse-changes'),
    ]
    const got: number[] = []
    await using _group = await bus.subscribe(renamed, async ({ payload }) => void got.push(payload.n), {
      group: 'late',
    })

    await eventually('both', () => got.length === 2)
    expect(got).to.deep.equal([3, 4])
    expect([events.state.messages, changes.state.messages]).to.deep.equal([2, 2])
    expect([events, changes].map(({ config }) => config.max_bytes)).to.deep.equal([streamBytes, streamBytes])
  })

  it('are created by one process alone: the others wait for it, publish to them and consume from them then', async () => {
    const event = counted()
    const got: number[] = []
    await using waiting = await connectNats({ url: nats.url, name: 'waiting', log, createsStreams: false })
    await using _group = await waiting.subscribe(event, async ({ payload }) => void got.push(payload.n), {
      group: 'group',
    })
    await using _all = await waiting.subscribe(event, async ({ payload }) => void got.push(payload.n))
    const id = randomUUID()
    const unheard = await waiting.publish(event, { n: 1 }, { id }).catch((error: unknown) => error)
    expect(unheard).to.have.property('name', 'BusUnavailable')
    expect(await manager.streams.list().next()).to.deep.equal([])

    await using _creator = await open()

    await eventually('it is stored', () => waiting.publish(event, { n: 1 }, { id }).then(() => true))
    await eventually('both subscriptions have it', () => got.length === 2)
  })

  it('get a limit where an operator has made one without, and keep what the operator has configured', async () => {
    const event = decisive()
    await manager.streams.add({
      name: 'gatehouse-events',
      subjects: ['gatehouse.event.>'],
      description: "the operator's",
    })
    const send = { msgID: randomUUID() }
    await observer.jetstream().publish(`gatehouse.${event.subject}`, JSON.stringify({ n: 1 }), send)

    await using bus = await open()
    const got: number[] = []
    await using _group = await bus.subscribe(event, async ({ payload }) => void got.push(payload.n), { group: 'group' })
    await bus.publish(event, { n: 2 }, { id: randomUUID() })

    await eventually('both', () => got.length === 2)
    const limited = async () => {
      const { config } = await manager.streams.info('gatehouse-events')
      return config.max_bytes > 0 && config
    }
    const config = await eventually('it has a limit', limited)
    expect(config).to.include({ max_bytes: streamBytes, description: "the operator's" })
  })

  it('hand no event to a handler of another one, and do not repeat it', async () => {
    await using bus = await open()
    const got: number[] = []
    await using _group = await bus.subscribe(ended, async ({ payload }) => void got.push(payload.n), { group: 'own' })
    const [stream, consumer] = ['gatehouse-events', 'own_event_test_ended_v1']
    const other = decisive()
    const settledUpTo = async () => (await manager.consumers.info(stream, consumer)).ack_floor.stream_seq
    // What nodes of a cluster do that hold different events under one number.
    await manager.consumers.update(stream, consumer, { filter_subject: `gatehouse.${other.subject}` })
    await bus.publish(other, { n: 1 }, { id: randomUUID() })
    await eventually('it is settled', async () => (await settledUpTo()) === 1)
    await manager.consumers.update(stream, consumer, { filter_subject: 'gatehouse.event.test.ended.v1' })
    await bus.publish(ended, { n: 2 }, { id: randomUUID() })

    await eventually('the own one is handled', () => got.includes(2))
    expect(got).to.deep.equal([2])
  })
})
