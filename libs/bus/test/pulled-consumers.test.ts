import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, startNats, type LocalServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect, type ConsumerConfig, type NatsConnection } from 'nats'
import { connectNats } from '../src/index.ts'
import { counted } from './definitions.ts'

const stream = 'gatehouse-changes'
const given = { prefix: 'pulled_', ackWaitMs: 1_000 }

describe('Consumers from which others pull', () => {
  const { log } = capturedLog()
  const event = counted()
  const [kept, added] = [
    { name: 'pulled_kept', event },
    { name: 'pulled_added', event },
  ]
  let nats: LocalServer
  let observer: NatsConnection

  beforeEach(async () => {
    nats = await startNats()
    observer = await connect({ servers: nats.url })
  })

  afterEach(async () => {
    await observer.close()
    await nats[Symbol.asyncDispose]()
  })

  const open = () => connectNats({ url: nats.url, name: 'pulled', log })
  const manager = () => observer.jetstreamManager({ checkAPI: false })
  const configs = async (): Promise<Map<string, ConsumerConfig>> => {
    const found = await (await manager()).consumers.list(stream).next()
    return new Map(found.map(({ name, config }) => [name, config]))
  }
  const names = async () => [...(await configs()).keys()].toSorted()

  it('stay when a process that does not want them starts, and when it connects again', async () => {
    await using newer = await open()
    await using older = await open()
    await using _all = await newer.plain!.keepConsumers({ ...given, wanted: [kept, added] })
    const newerOnly = await configs()
    await using _some = await older.plain!.keepConsumers({ ...given, wanted: [kept] })
    const afterStart = await names()
    await newer[Symbol.asyncDispose]()
    await (await manager()).consumers.delete(stream, kept.name)

    await observer.close()
    await nats.kill()
    await nats.start()
    observer = await connect({ servers: nats.url })
    await eventually('the older process has made its own again', async () => (await names()).includes(kept.name))

    expect(afterStart).to.deep.equal([added.name, kept.name])
    expect(await names()).to.deep.equal([added.name, kept.name])
    expect([...newerOnly.keys()].toSorted()).to.deep.equal([added.name, kept.name])
  })

  it('are deleted when they are named, also by several processes', async () => {
    await using bus = await open()
    await using _consumers = await bus.plain!.keepConsumers({ ...given, wanted: [kept, added] })

    await bus.plain!.deleteConsumers([added.name, 'pulled_missing'])
    await bus.plain!.deleteConsumers([added.name])

    expect(await names()).to.deep.equal([kept.name])
  })

  it('are made again although the connection was never lost', async () => {
    await using bus = await open()
    await using _consumers = await bus.plain!.keepConsumers({ ...given, wanted: [kept], renewMs: 20 })

    await (await manager()).consumers.delete(stream, kept.name)

    await eventually('it is there', async () => (await names()).includes(kept.name))
  })

  it('are deleted once no process renews them, and stay while one does', async () => {
    await using newer = await open()
    await using older = await open()
    await using last = await newer.plain!.keepConsumers({ ...given, wanted: [added], renewMs: 20 })
    await using _older = await older.plain!.keepConsumers({ ...given, wanted: [kept], renewMs: 20 })
    const renewals = new Set<string>()
    await eventually('each has renewed its own often', async () => {
      renewals.add([...(await configs()).values()].map(({ description }) => description).join())
      return renewals.size > 30
    })
    const whileRenewed = await names()

    await last[Symbol.asyncDispose]()
    await eventually('it is deleted', async () => !(await names()).includes(added.name))

    expect(whileRenewed).to.deep.equal([added.name, kept.name])
    expect(await names()).to.deep.equal([kept.name])
  })

  it('keep their position and who waits for an event while they are renewed and changed', async () => {
    await using bus = await open()
    const event = counted()
    const wanted = [{ name: 'pulled_events', event }]
    await using _first = await bus.plain!.keepConsumers({ ...given, wanted, renewMs: 20 })
    const pulled = await observer.jetstream().consumers.get(stream, 'pulled_events')
    const next = async () => {
      const message = await pulled.next()
      await message?.ackAck()
      return message?.json()
    }

    const waiting = next()
    const renewals = new Set<string | undefined>()
    await eventually('it is renewed', async () => {
      renewals.add((await configs()).get('pulled_events')?.description)
      return renewals.size > 2
    })
    for (const n of [1, 2]) await bus.publish(event, { n }, { id: randomUUID() })
    const first = await waiting
    await using _second = await bus.plain!.keepConsumers({ ...given, wanted, ackWaitMs: 2_000 })

    expect([first, await next()]).to.deep.equal([{ n: 1 }, { n: 2 }])
  })
})
