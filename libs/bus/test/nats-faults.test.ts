import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, freePort, startNats, startTcpProxy, type LocalServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect } from 'nats'
import { connectNats } from '../src/index.ts'
import type { Bus } from '../src/index.ts'
import { ackWaitMs } from '../src/policy.ts'
import { add, counted, deferred, told } from './definitions.ts'

/** Of what waits for no server. */
const atOnceMs = 5_000

describe('the bus while NATS fails', () => {
  const { log } = capturedLog()
  let nats: LocalServer
  let bus: Bus

  beforeEach(async () => {
    nats = await startNats()
    bus = await connectNats({ url: nats.url, name: 'faults', log })
  })

  afterEach(async () => {
    await bus[Symbol.asyncDispose]()
    await nats[Symbol.asyncDispose]()
  })

  const killAndNotice = async () => {
    await nats.kill()
    await eventually('the loss is noticed', () => !bus.ready())
  }

  it('loses no event when NATS is killed: neither the stored ones nor those published after its restart', async () => {
    const event = counted()
    const [failing, seen]: number[][] = [[], []]
    let handled: number[] = []
    let refuseAll = true
    await bus.subscribe(
      event,
      async ({ payload }) => {
        failing!.push(payload.n)
        if (refuseAll) throw new Error('failing until the restart')
        handled.push(payload.n)
      },
      { group: 'group' },
    )
    await bus.subscribe(event, async ({ payload }) => void seen!.push(payload.n))
    for (const n of [1, 2, 3]) await bus.publish(event, { n }, { id: randomUUID() })
    await eventually('all were delivered once', () => [1, 2, 3].every((n) => failing!.includes(n)))

    await killAndNotice()
    refuseAll = false
    handled = []
    await nats.start()
    await eventually('it is back', () => bus.ready())
    for (const n of [4, 5]) await bus.publish(event, { n }, { id: randomUUID() })

    await eventually('all five were handled', () => new Set(handled).size === 5)
    await eventually('the subscriber has all five', () => seen!.length === 5)
    expect(seen).to.deep.equal([1, 2, 3, 4, 5])
  })

  it('delivers to a subscriber what others published while it had no connection', async () => {
    const event = counted()
    const seen: number[] = []
    await bus.subscribe(event, async ({ payload }) => void seen.push(payload.n))
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    await eventually('the first', () => seen.length === 1)

    await killAndNotice()
    await nats.start()
    await using other = await connectNats({ url: nats.url, name: 'another process', log })
    await other.publish(event, { n: 2 }, { id: randomUUID() })

    await eventually('the second', () => seen.length === 2)
    expect(seen).to.deep.equal([1, 2])
  })

  it('delivers to a subscriber what was lost in a broken connection, without waiting for a later event', async () => {
    const event = counted()
    await using proxy = await startTcpProxy(nats.url)
    await using behindProxy = await connectNats({ url: proxy.url, name: 'behind a proxy', log })
    const [seen, consumed]: number[][] = [[], []]
    await behindProxy.subscribe(event, async ({ payload }) => void seen!.push(payload.n))
    await behindProxy.subscribe(event, async ({ payload }) => void consumed!.push(payload.n), { group: 'group' })
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    await eventually('the first', () => seen!.length + consumed!.length === 2)

    proxy.partition()
    await bus.publish(event, { n: 2 }, { id: randomUUID() })
    await bus.publish(event, { n: 3 }, { id: randomUUID() })
    proxy.heal()

    await eventually('the subscriber has both', () => seen!.length === 3)
    // The server redelivers after `ackWaitMs`, and once more when the connection broke under that delivery as well.
    // The first comes again, too, where its acknowledgement was lost.
    await eventually('the group has both', () => consumed!.includes(2) && consumed!.includes(3), 5 * ackWaitMs)
    expect(seen).to.deep.equal([1, 2, 3])
    expect([...new Set(consumed)]).to.have.members([1, 2, 3])
  })

  it('resumes when NATS restarts without its store', async () => {
    const event = counted()
    const [handled, seen]: number[][] = [[], []]
    await bus.subscribe(event, async ({ payload }) => void handled!.push(payload.n), { group: 'group' })
    await bus.subscribe(event, async ({ payload }) => void seen!.push(payload.n))
    const pulled = { prefix: 'pulled_', wanted: [{ name: 'pulled_a', event }], ackWaitMs: 1_000 }
    await using _consumers = await bus.plain!.keepConsumers(pulled)
    await bus.plain!.subscribe('gatehouse.plain', (bytes) => void seen!.push(bytes.length))
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    await eventually('the first', () => handled!.length + seen!.length === 2)

    await deleteStream(nats.url)
    await killAndNotice()
    await nats.start()
    await eventually('an event is stored again', () =>
      bus.publish(event, { n: 2 }, { id: '6f5cc5e8-5f0b-4a3e-9d62-1d9f3f1c7a11' }).then(() => true),
    )

    await eventually('the second', () => handled!.includes(2) && seen!.includes(2))
    const nc = await connect({ servers: nats.url })
    const manager = await nc.jetstreamManager()
    const { config } = await eventually('a consumer for others', () =>
      manager.consumers.info('gatehouse-changes', 'pulled_a'),
    )
    nc.publish('gatehouse.plain', '123')
    await eventually('the plain message', () => seen!.includes(3))
    expect(config).to.include({
      filter_subject: `gatehouse.${event.subject.replace('event.', 'change.')}.*`,
      ack_wait: 1_000_000_000,
    })
    await nc.close()
  })

  it('resumes when its stream is deleted while it is connected', async () => {
    const event = counted()
    const [handled, seen]: number[][] = [[], []]
    await bus.subscribe(event, async ({ payload }) => void handled!.push(payload.n), { group: 'group' })
    await bus.subscribe(event, async ({ payload }) => void seen!.push(payload.n))
    for (const n of [1, 2, 3]) await bus.publish(event, { n }, { id: randomUUID() })
    await eventually('the first three', () => handled!.length + seen!.length === 6)

    await deleteStream(nats.url)
    const id = randomUUID()
    await eventually('an event is stored again', () => bus.publish(event, { n: 4 }, { id }).then(() => true))

    await eventually('the fourth', () => handled!.includes(4) && seen!.includes(4))
  })

  it('begins what was asked for while the connection was being lost, and afterwards', async () => {
    const [event, announced, call] = [counted(), told(), add()]
    const plain = bus.plain!
    const pulled = { prefix: 'pulled_', ackWaitMs: 1_000 }
    const seen: string[] = []
    const subscribeAll = (name: string) => [
      bus.subscribe(event, async () => void seen.push(`${name}: group`), { group: name }),
      bus.subscribe(event, async () => void seen.push(`${name}: every`)),
      bus.subscribe(announced, async () => void seen.push(`${name}: broadcast`)),
      bus.respond(call, async ({ a, b }) => ({ sum: a + b })),
      plain.subscribe('gatehouse.plain', () => void seen.push(`${name}: plain`)),
      plain.keepConsumers({ ...pulled, wanted: [{ name: `pulled_${name}`, event }] }),
    ]

    const during = subscribeAll('during')
    await killAndNotice()
    await Promise.all([...during, ...subscribeAll('after')])
    await nats.start()
    await using other = await connectNats({ url: nats.url, name: 'another process', log })
    const expected = ['group', 'every', 'broadcast', 'plain'].flatMap((kind) => [`during: ${kind}`, `after: ${kind}`])
    const nc = await connect({ servers: nats.url })

    await eventually('the groups', async () => {
      await other.publish(event, { n: 1 }, { id: randomUUID() })
      void other.publish(announced, { n: 1 })
      nc.publish('gatehouse.plain', '1')
      return expected.every((one) => seen.includes(one))
    })
    expect(await other.request(call, { a: 1, b: 2 }, { timeoutMs: 5_000 })).to.deep.equal({ sum: 3 })
    const manager = await nc.jetstreamManager()
    for (const name of ['pulled_during', 'pulled_after']) await manager.consumers.info('gatehouse-changes', name)
    await nc.close()
  })

  it('delivers to a subscriber what was published since it was asked for, although the connection was lost first', async () => {
    const event = counted()
    await using proxy = await startTcpProxy(nats.url)
    await using behindProxy = await connectNats({ url: proxy.url, name: 'behind a proxy', log })
    const seen: number[] = []

    proxy.partition()
    const subscribed = behindProxy.subscribe(event, async ({ payload }) => void seen.push(payload.n))
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    proxy.heal()
    await subscribed

    await eventually('it arrives', () => seen.length > 0)
    expect(seen).to.deep.equal([1])
  })

  it('closes at once while NATS is away', async () => {
    const closing = await connectNats({ url: nats.url, name: 'closing', log })
    await closing.subscribe(counted(), async () => {}, { group: 'group' })
    await closing.subscribe(counted(), async () => {})
    await killAndNotice()
    const started = performance.now()

    await closing[Symbol.asyncDispose]()

    expect(performance.now() - started).to.be.below(atOnceMs)
  })

  it('rejects pending requests as soon as the connection is lost, and later ones at once', async () => {
    const call = add()
    const asked = deferred()
    const never = deferred()
    await bus.respond(call, async () => {
      asked.resolve()
      await never.promise
      return { sum: 0 }
    })
    const ask = () => bus.request(call, { a: 1, b: 1 }, { timeoutMs: 60_000 }).catch((error: unknown) => error)
    const pending = ask()
    await asked.promise

    await nats.kill()

    expect(await pending).to.include({ name: 'BusUnavailable', reason: 'disconnected' })
    expect(await ask()).to.include({ reason: 'disconnected' })
    const published = bus.publish(counted(), { n: 1 }, { id: randomUUID() }).catch((error: unknown) => error)
    expect(await published).to.include({ reason: 'disconnected' })
    never.resolve()
  })

  it('responds and receives broadcasts again after a restart', async () => {
    const call = add()
    const event = told()
    const seen: number[] = []
    await bus.respond(call, async ({ a, b }) => ({ sum: a + b }))
    await bus.subscribe(event, async ({ payload }) => void seen.push(payload.n))

    await killAndNotice()
    await nats.start()
    await eventually('it is back', () => bus.ready())

    expect(await bus.request(call, { a: 1, b: 2 }, { timeoutMs: 2_000 })).to.deep.equal({ sum: 3 })
    void bus.publish(event, { n: 1 })
    await eventually('the broadcast', () => seen.length === 1)
  })

  it('redelivers the event that a killed process held to another member of its group', async () => {
    const event = counted()
    const member = fork(new URL('./stuck-member.ts', import.meta.url), [nats.url, event.subject], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    await once(member, 'message')
    const id = randomUUID()
    await bus.publish(event, { n: 7 }, { id })
    expect(await once(member, 'message')).to.deep.include({ holds: 7 })

    const dead = once(member, 'exit')
    member.kill('SIGKILL')
    await dead
    const taken = Promise.withResolvers<{ id: string }>()
    await bus.subscribe(event, async (received) => taken.resolve(received), { group: 'group' })

    // The server's count of deliveries is off now and then when a process was killed.
    expect((await taken.promise).id).to.equal(id)
  })

  it('lets many processes start at the same time', async () => {
    const event = counted()
    const got: number[] = []
    const prefix = 'crowd'
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => connectNats({ url: nats.url, name: 'one of many', prefix, log })),
    )
    await Promise.all(
      opened.map((one) => one.subscribe(event, async ({ payload }) => void got.push(payload.n), { group: 'group' })),
    )

    await opened[0]!.publish(event, { n: 1 }, { id: randomUUID() })

    await eventually('it arrives', () => got.length === 1)
    await Promise.all(opened.map((one) => one[Symbol.asyncDispose]()))
  })
})

describe('connecting to NATS', () => {
  const { log } = capturedLog()
  const failure = async (url: string) => {
    const error: unknown = await connectNats({ url, name: 'test', log }).catch((cause: unknown) => cause)
    return (error as Error).message
  }

  it('starts without NATS, says so once, and begins when it comes', async () => {
    await using late = await startNats()
    await late.stop()
    const { log: ownLog, lines } = capturedLog()
    const url = late.url.replace('nats://', 'nats://bob:hunter2@')
    await using bus = await connectNats({ url, name: 'early', log: ownLog })
    const [event, call] = [counted(), add()]
    const got: number[] = []
    await using _group = await bus.subscribe(event, async ({ payload }) => void got.push(payload.n), { group: 'group' })
    await using _all = await bus.subscribe(event, async ({ payload }) => void got.push(payload.n + 10))
    await using _responder = await bus.respond(call, async ({ a, b }) => ({ sum: a + b }))
    const { plain } = bus
    await using _plain = await plain!.subscribe('gatehouse.plain', (bytes) => void got.push(bytes.length))
    await using _consumers = await plain!.keepConsumers({ prefix: 'pulled_', wanted: [], ackWaitMs: 1_000 })
    const earlyPlain = await plain!.request('gatehouse.plain', '', { timeoutMs: 1 }).catch((error: unknown) => error)
    const early = await bus.publish(event, { n: 0 }, { id: randomUUID() }).catch((error: unknown) => error)
    const readyBefore = bus.ready()
    await late.start()
    await using other = await connectNats({ url: late.url, name: 'another process', log })
    // Published before the first process has its subscriptions, perhaps.
    await other.publish(event, { n: 1 }, { id: randomUUID() })

    await eventually('it arrives at both subscriptions', () => got.length === 2, 30_000)
    expect(got).to.have.members([1, 11])
    expect(await bus.request(call, { a: 1, b: 2 }, { timeoutMs: 5_000 })).to.deep.equal({ sum: 3 })
    expect([readyBefore, bus.ready()]).to.deep.equal([false, true])
    expect(early).to.include({ name: 'BusUnavailable', reason: 'disconnected' })
    expect(earlyPlain).to.include({ name: 'BusUnavailable', reason: 'disconnected' })
    const plainNone = await plain!
      .request('gatehouse.nobody', '', { timeoutMs: 5_000 })
      .catch((error: unknown) => error)
    expect(plainNone).to.include({ name: 'BusUnavailable', reason: 'no-responders' })
    expect(lines.filter(({ msg }) => String(msg).startsWith('cannot reach NATS'))).to.have.length(1)
    expect(JSON.stringify(lines)).not.to.include('hunter2')
  })

  it('starts when the connection is lost before the stream is there', async () => {
    await using nats = await startNats()
    await using proxy = await startResettingProxy(nats.url, '$JS.API.STREAM.CREATE')

    await using bus = await connectNats({ url: proxy.url, name: 'unlucky', log })

    const event = counted()
    const id = randomUUID()
    await eventually('an event is stored', () => bus.publish(event, { n: 1 }, { id }).then(() => true))
    expect(proxy.resets()).to.equal(1)
  })

  it('is closed at once by a process that stops before NATS came', async () => {
    const bus = await connectNats({ url: `nats://127.0.0.1:${await freePort()}`, name: 'early', log })
    const subscription = await bus.subscribe(counted(), async () => undefined, { group: 'group' })

    const started = performance.now()

    await subscription[Symbol.asyncDispose]()
    await bus[Symbol.asyncDispose]()

    expect(bus.ready()).to.equal(false)
    expect(performance.now() - started).to.be.below(atOnceMs)
  })

  it('says when the credentials are refused, the address is malformed, or JetStream is missing', async () => {
    const config = 'accounts { WITHOUT { users: [{ user: bob, password: "p@ss" }] } }'
    await using guarded = await startNats({ config })
    const server = guarded.url.replace('nats://', '')

    expect(await failure(`nats://bob:wrong@${server}`)).to.equal(`NATS at ${server} refuses the credentials`)
    expect(await failure('nats://bob:hunter2@:x'))
      .to.match(/malformed/)
      .and.not.include('hunter2')
    expect(await failure(`nats://bob:p%40ss@${server}`)).to.equal(
      `NATS at ${server} does not offer JetStream, which the bus needs`,
    )
  })

  it('takes credentials and several servers from the address', async () => {
    await using guarded = await startNats({ config: 'authorization { user: bob, password: "p@ss" }' })
    const server = guarded.url.replace('nats://', '')

    await using bus = await connectNats({
      url: `nats://bob:p%40ss@127.0.0.1:${await freePort()},${server}`,
      name: 'test',
      log,
    })

    expect(bus.ready()).to.equal(true)
  })
})

/** A proxy that resets the first connection on which the client sends this text. */
async function startResettingProxy(target: string, text: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let resets = 0
  const server = createServer((client) => {
    const upstream = connectTcp(Number(port), hostname)
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined))
    upstream.on('data', (data) => void client.write(data))
    client.on('close', () => upstream.destroy())
    client.on('data', (data) => {
      if (resets > 0 || !data.includes(text)) return void upstream.write(data)
      resets += 1
      client.resetAndDestroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    resets: () => resets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function deleteStream(url: string): Promise<void> {
  const nc = await connect({ servers: url })
  const jsm = await nc.jetstreamManager()
  await jsm.streams.delete('gatehouse-changes')
  await nc.close()
}
