import { fork } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { capturedLog, eventually, freePort, privateNats, type PrivateServer } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connect } from 'nats'
import { connectNats } from '../src/index.ts'
import type { Bus } from '../src/index.ts'
import { add, counted, deferred } from './definitions.ts'

describe('the bus while NATS fails', () => {
  const { log } = capturedLog()
  let nats: PrivateServer
  let bus: Bus

  beforeEach(async () => {
    nats = await privateNats()
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

  it('loses no event to a kill -9 of NATS: neither the stored ones nor those that come after', async () => {
    const event = counted()
    const [failing, heard]: number[][] = [[], []]
    let handled: number[] = []
    let refuseAll = true
    await bus.subscribe(event, 'group', async ({ payload }) => {
      failing!.push(payload.n)
      if (refuseAll) throw new Error('not before the restart')
      handled.push(payload.n)
    })
    await bus.listen(event, async ({ payload }) => void heard!.push(payload.n))
    for (const n of [1, 2, 3]) await bus.publish(event, { n }, { id: randomUUID() })
    await eventually('all were tried', () => [1, 2, 3].every((n) => failing!.includes(n)))

    await killAndNotice()
    refuseAll = false
    handled = []
    await nats.start()
    await eventually('it is back', () => bus.ready())
    for (const n of [4, 5]) await bus.publish(event, { n }, { id: randomUUID() })

    await eventually('all five were handled', () => new Set(handled).size === 5, 15_000)
    await eventually('all five were heard', () => heard!.length === 5, 15_000)
    expect(heard).to.deep.equal([1, 2, 3, 4, 5])
  })

  it('tells a listener what others stored while it had no connection', async () => {
    const event = counted()
    const heard: number[] = []
    await bus.listen(event, async ({ payload }) => void heard.push(payload.n))
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    await eventually('the first', () => heard.length === 1)

    await killAndNotice()
    await nats.start()
    await using other = await connectNats({ url: nats.url, name: 'another process', log })
    await other.publish(event, { n: 2 }, { id: randomUUID() })

    await eventually('the second', () => heard.length === 2)
    expect(heard).to.deep.equal([1, 2])
  })

  it('resumes even when NATS comes back without its store', async () => {
    const event = counted()
    const [handled, heard]: number[][] = [[], []]
    await bus.subscribe(event, 'group', async ({ payload }) => void handled!.push(payload.n))
    await bus.listen(event, async ({ payload }) => void heard!.push(payload.n))
    await bus.publish(event, { n: 1 }, { id: randomUUID() })
    await eventually('the first', () => handled!.length + heard!.length === 2)

    await forgetEverything(nats.url)
    await killAndNotice()
    await nats.start()
    await eventually('an event is stored again', () =>
      bus.publish(event, { n: 2 }, { id: '6f5cc5e8-5f0b-4a3e-9d62-1d9f3f1c7a11' }).then(() => true),
    )

    await eventually('the second', () => handled!.includes(2) && heard!.includes(2), 10_000)
  })

  it('fails what waits for an answer as soon as the connection is lost, and what comes then at once', async () => {
    const call = add()
    const asked = deferred()
    const never = deferred()
    await bus.answer(call, async () => {
      asked.resolve()
      await never.promise
      return { sum: 0 }
    })
    const ask = () => bus.request(call, { a: 1, b: 1 }, { timeoutMs: 60_000 }).catch((error: unknown) => error)
    const pending = ask()
    await asked.promise

    await nats.kill()

    expect(await pending).to.include({ status: 503, reason: 'disconnected' })
    expect(await ask()).to.include({ reason: 'disconnected' })
    const published = bus.publish(counted(), { n: 1 }, { id: randomUUID() }).catch((error: unknown) => error)
    expect(await published).to.include({ reason: 'disconnected' })
    never.resolve()
  })

  it('answers and hears again after a restart', async () => {
    const call = add()
    const event = counted()
    const heard: number[] = []
    await bus.answer(call, async ({ a, b }) => ({ sum: a + b }))
    await bus.hear(event, async ({ payload }) => void heard.push(payload.n))

    await killAndNotice()
    await nats.start()
    await eventually('it is back', () => bus.ready())

    expect(await bus.request(call, { a: 1, b: 2 }, { timeoutMs: 2_000 })).to.deep.equal({ sum: 3 })
    bus.announce(event, { n: 1 })
    await eventually('it is heard', () => heard.length === 1)
  })

  it('gives the event that a killed process held to another member of its group', async () => {
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
    const taken = Promise.withResolvers<{ id: string; deliveries: number }>()
    await bus.subscribe(event, 'group', async (received) => taken.resolve(received))

    expect(await taken.promise).to.deep.include({ id, deliveries: 2 })
  })

  it('lets many processes start at once', async () => {
    const event = counted()
    const got: number[] = []
    const prefix = 'crowd'
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => connectNats({ url: nats.url, name: 'one of many', prefix, log })),
    )
    await Promise.all(
      opened.map((one) => one.subscribe(event, 'group', async ({ payload }) => void got.push(payload.n))),
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

  it('gives up with one line that names the servers and no credentials', async () => {
    await using silent = await privateNats()
    silent.pause()
    const [first, second] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${silent.port}`]

    const message = await failure(`nats://bob:hunter2@${first},nats://bob:hunter2@${second}`)

    expect(message).to.equal(`cannot reach NATS at ${first}, ${second}`)
  })

  it('says when the credentials are refused, the address is malformed, or JetStream is missing', async () => {
    const config = 'accounts { WITHOUT { users: [{ user: bob, password: "p@ss" }] } }'
    await using guarded = await privateNats({ config })
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
    await using guarded = await privateNats({ config: 'authorization { user: bob, password: "p@ss" }' })
    const server = guarded.url.replace('nats://', '')

    await using bus = await connectNats({
      url: `nats://bob:p%40ss@127.0.0.1:${await freePort()},${server}`,
      name: 'test',
      log,
    })

    expect(bus.ready()).to.equal(true)
  })
})

async function forgetEverything(url: string): Promise<void> {
  const nc = await connect({ servers: url })
  const jsm = await nc.jetstreamManager()
  await jsm.streams.delete('gatehouse-events')
  await nc.close()
}
