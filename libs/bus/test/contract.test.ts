import { randomUUID } from 'node:crypto'
import { defineErrors } from '@gatehouse/runtime'
import { capturedLog, eventually, testNats } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connectNats, createLocalBus } from '../src/index.ts'
import type { Bus, Received } from '../src/index.ts'
import { add, counted, deferred } from './definitions.ts'

type Fixture = AsyncDisposable & { connect(): Promise<Bus>; lines: Record<string, unknown>[] }

describeContract('over NATS', async () => {
  const { log, lines } = capturedLog()
  const { url, prefix, [Symbol.asyncDispose]: dispose } = await testNats()
  const connect = () => connectNats({ url, prefix, name: 'contract test', log })
  return { connect, lines, [Symbol.asyncDispose]: dispose }
})

describeContract('in one process', async () => {
  const { log, lines } = capturedLog()
  const bus = createLocalBus({ log })
  return { connect: async () => bus, lines, [Symbol.asyncDispose]: async () => {} }
})

/** `connect` gives the bus as another process would have it; in one process they are one and the same. */
function describeContract(where: string, start: () => Promise<Fixture>) {
  describe(`the bus ${where}`, () => {
    let fixture: Fixture
    let bus: Bus
    let other: Bus

    before(async () => {
      fixture = await start()
      bus = await fixture.connect()
      other = await fixture.connect()
    })

    after(async () => {
      await bus[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
      await fixture[Symbol.asyncDispose]()
    })

    const publishAll = async (event: ReturnType<typeof counted>, numbers: number[]) => {
      for (const n of numbers) await bus.publish(event, { n }, { id: randomUUID() })
    }

    it('gives each event, in order, to every group and listener, with its id and request id', async () => {
      const event = counted()
      const [first, second, heard]: Received<{ n: number }>[][] = [[], [], []]
      await bus.subscribe(event, 'first', async (received) => void first!.push(received))
      await other.subscribe(event, 'second', async (received) => void second!.push(received))
      await other.listen(event, async (received) => void heard!.push(received))
      const ids = [1, 2, 3].map(() => randomUUID())

      for (const [index, id] of ids.entries()) await bus.publish(event, { n: index }, { id, requestId: `r${index}` })

      await eventually('all three everywhere', () => [first, second, heard].every((list) => list!.length === 3))
      const expected = ids.map((id, n) => ({ id, payload: { n }, requestId: `r${n}`, deliveries: 1 }))
      expect(first).to.deep.equal(expected)
      expect(second).to.deep.equal(expected)
      expect(heard).to.deep.equal(expected)
    })

    it('gives each event to one member of a group', async () => {
      const event = counted()
      const got: number[] = []
      const members = new Set<string>()
      const member = (name: string) => async (received: Received<{ n: number }>) => {
        members.add(name)
        got.push(received.payload.n)
      }
      await bus.subscribe(event, 'shared', member('a'))
      await other.subscribe(event, 'shared', member('b'))
      const numbers = Array.from({ length: 40 }, (_, n) => n)

      await publishAll(event, numbers)
      await publishAll(event, [99])

      await eventually('the last one', () => got.includes(99) && got.length >= 41)
      expect(got.toSorted((a, b) => a - b)).to.deep.equal([...numbers, 99])
      expect(members).to.have.keys('a', 'b')
    })

    it('takes a repeated publish with the same id for one event', async () => {
      const event = counted()
      const got: number[] = []
      await bus.subscribe(event, 'group', async ({ payload }) => void got.push(payload.n))
      const id = randomUUID()

      await bus.publish(event, { n: 1 }, { id })
      await other.publish(event, { n: 1 }, { id })
      await publishAll(event, [2])

      await eventually('the event after', () => got.includes(2))
      expect(got).to.deep.equal([1, 2])
    })

    it('delivers again what a handler failed on, counting, and lets the others pass', async () => {
      const event = counted()
      const got: [number, number][] = []
      await bus.subscribe(event, 'group', async ({ payload, deliveries }) => {
        got.push([payload.n, deliveries])
        if (payload.n === 1 && deliveries < 3) throw new Error('not yet')
      })

      await publishAll(event, [1, 2])

      await eventually('the third delivery', () => got.some(([n, deliveries]) => n === 1 && deliveries === 3))
      expect(got).to.have.deep.members([
        [1, 1],
        [2, 1],
        [1, 2],
        [1, 3],
      ])
    })

    it('keeps the events of a group that has no member at the moment', async () => {
      const event = counted()
      const got: number[] = []
      const subscription = await bus.subscribe(event, 'away', async () => {})
      await subscription[Symbol.asyncDispose]()

      await publishAll(event, [1, 2])
      await bus.subscribe(event, 'away', async ({ payload }) => void got.push(payload.n))

      await eventually('both', () => got.length === 2)
      expect(got).to.deep.equal([1, 2])
    })

    it('waits for the handler under way when a subscription ends, and gives it nothing more', async () => {
      const event = counted()
      const [entered, release] = [deferred(), deferred()]
      const done: number[] = []
      const subscription = await bus.subscribe(event, 'group', async ({ payload }) => {
        entered.resolve()
        await release.promise
        done.push(payload.n)
      })
      await publishAll(event, [1, 2])
      await entered.promise

      const ended = subscription[Symbol.asyncDispose]().then(() => [...done])
      release.resolve()

      expect(await ended).to.deep.equal([1])
    })

    it('tells a listener nothing of what was published before', async () => {
      const event = counted()
      const heard: number[] = []
      await publishAll(event, [1])

      await other.listen(event, async ({ payload }) => void heard.push(payload.n))
      await publishAll(event, [2])

      await eventually('the second', () => heard.length > 0)
      expect(heard).to.deep.equal([2])
    })

    it('announces to everyone, or to one name only', async () => {
      const event = counted()
      const [everyone, nodeA, nodeB]: number[][] = [[], [], []]
      await bus.hear(event, async ({ payload }) => void everyone!.push(payload.n))
      await bus.hear(event, async ({ payload }) => void nodeA!.push(payload.n), { as: 'node-a' })
      await other.hear(event, async ({ payload }) => void nodeB!.push(payload.n), { as: 'node-b' })

      other.announce(event, { n: 1 })
      other.announce(event, { n: 2 }, { to: 'node-a' })
      other.announce(event, { n: 3 }, { to: 'node-b' })

      await eventually('each its own', () => everyone!.length + nodeA!.length + nodeB!.length === 3)
      expect({ everyone, nodeA, nodeB }).to.deep.equal({ everyone: [1], nodeA: [2], nodeB: [3] })
    })

    it('asks, and answers once, with the context', async () => {
      const call = add()
      const asked: (string | undefined)[] = []
      const answer = async ({ a, b }: { a: number; b: number }, context: { requestId?: string | undefined }) => {
        asked.push(context.requestId)
        return { sum: a + b }
      }
      await bus.answer(call, answer)
      await other.answer(call, answer)

      const reply = await other.request(call, { a: 2, b: 3 }, { timeoutMs: 2_000, requestId: 'r1' })

      expect(reply).to.deep.equal({ sum: 5 })
      expect(asked).to.deep.equal(['r1'])
    })

    it('carries a refusal whole', async () => {
      const refuse = defineErrors({ space_owned: { status: 409, message: 'You own spaces' } })
      const call = add()
      await other.answer(call, async () => {
        throw refuse.space_owned({ fields: { ownedSpaces: ['s1'] }, headers: { 'Retry-After': '3' } })
      })

      const refusal = await bus.request(call, { a: 1, b: 1 }, { timeoutMs: 2_000 }).catch((error: unknown) => error)

      expect(refusal).to.include({ name: 'Refusal', code: 'space_owned', status: 409, message: 'You own spaces' })
      expect(refusal).to.deep.include({ fields: { ownedSpaces: ['s1'] }, headers: { 'Retry-After': '3' } })
    })

    it('hides a fault from the caller and logs it at the answerer', async () => {
      const call = add()
      await other.answer(call, async () => {
        throw new Error('secret detail')
      })

      const refusal = await bus.request(call, { a: 1, b: 1 }, { timeoutMs: 2_000 }).catch((error: unknown) => error)

      expect(refusal).to.include({ code: 'internal', status: 500, message: 'Internal server error' })
      expect(JSON.stringify(fixture.lines)).to.include('secret detail').and.include(call.subject)
    })

    it('tells "nobody answers" from "no answer in time"', async () => {
      const [silent, slow] = [add(), add()]
      const release = deferred()
      await other.answer(slow, async () => {
        await release.promise
        return { sum: 0 }
      })

      const ask = (call: ReturnType<typeof add>) =>
        bus.request(call, { a: 1, b: 1 }, { timeoutMs: 100 }).catch((error: unknown) => error)

      expect(await ask(silent)).to.include({ status: 503, reason: 'no-responders' })
      expect(await ask(slow)).to.include({ status: 503, reason: 'timeout' })
      release.resolve()
    })

    it('refuses to send what does not fit the schema', async () => {
      const wrong = { n: 'one' } as unknown as { n: number }

      const sent = await bus.publish(counted(), wrong, { id: randomUUID() }).catch((error: unknown) => error)

      expect(sent).to.have.property('name', 'ZodError')
    })

    it('is ready until it is closed; then it waits for handlers under way and refuses', async () => {
      await using opened = await start()
      const closing = await opened.connect()
      const event = counted()
      const [entered, release] = [deferred(), deferred()]
      let finished = false
      await closing.subscribe(event, 'group', async () => {
        entered.resolve()
        await release.promise
        finished = true
      })
      await closing.publish(event, { n: 1 }, { id: randomUUID() })
      await entered.promise
      expect(closing.ready()).to.equal(true)

      const closed = closing[Symbol.asyncDispose]().then(() => finished)
      release.resolve()

      expect(await closed).to.equal(true)
      expect(closing.ready()).to.equal(false)
      const refused = await closing.publish(event, { n: 2 }, { id: randomUUID() }).catch((error: unknown) => error)
      expect(refused).to.include({ reason: 'disconnected' })
    })
  })
}
