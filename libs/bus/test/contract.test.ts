import { randomUUID } from 'node:crypto'
import { Unavailable, refuse, toErrorResponse } from '@gatehouse/runtime'
import { capturedLog, eventually, testNats } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connectNats, createLocalBus } from '../src/index.ts'
import type { Bus, Received } from '../src/index.ts'
import { add, counted, deferred, named, told } from './definitions.ts'

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

    it('delivers each event, in order, to every group and subscriber, with its name, id and request id', async () => {
      const event = counted()
      const [first, second, seen]: Received<ReturnType<typeof counted>>[][] = [[], [], []]
      await bus.subscribe(event, async (received) => void first!.push(received), { group: 'first' })
      await other.subscribe(event, async (received) => void second!.push(received), { group: 'second' })
      await other.subscribe(event, async (received) => void seen!.push(received))
      const ids = [1, 2, 3].map(() => randomUUID())

      for (const [index, id] of ids.entries()) await bus.publish(event, { n: index }, { id, requestId: `r${index}` })

      await eventually('all three everywhere', () => [first, second, seen].every((list) => list!.length === 3))
      const expected = ids.map((id, n) => ({ name: 'Counted', id, payload: { n }, requestId: `r${n}`, deliveries: 1 }))
      expect(first).to.deep.equal(expected)
      expect(second).to.deep.equal(expected)
      expect(seen).to.deep.equal(expected)
    })

    it('delivers several events to one handler, told apart by name: in one order to a subscriber', async () => {
      const [one, two, other3] = [counted(), named(), counted()]
      const [seen, consumed]: (number | string)[][] = [[], []]
      await other.subscribe([one, two], async (event) => {
        seen!.push(event.name === 'Counted' ? event.payload.n : event.payload.text)
      })
      await other.subscribe(
        [one, two],
        async (event) => {
          consumed!.push(event.name === 'Counted' ? event.payload.n : event.payload.text)
        },
        { group: 'several' },
      )

      for (const n of [1, 2, 3]) {
        await bus.publish(one, { n }, { id: randomUUID() })
        await bus.publish(other3, { n: n * 100 }, { id: randomUUID() })
        await bus.publish(two, { text: `t${n}` }, { id: randomUUID() })
      }

      await eventually('all', () => seen!.length >= 6 && consumed!.length >= 6)
      expect(seen).to.deep.equal([1, 't1', 2, 't2', 3, 't3'])
      expect(consumed).to.have.members([1, 't1', 2, 't2', 3, 't3'])
    })

    it('redelivers only the event of several on which the handler fails', async () => {
      const [one, two] = [counted(), named()]
      const consumed: string[] = []
      await bus.subscribe(
        [one, two],
        async (event) => {
          consumed.push(`${event.name} ${event.deliveries}`)
          if (event.name === 'Named' && event.deliveries === 1) throw new Error('not yet')
        },
        { group: 'group' },
      )

      await bus.publish(one, { n: 1 }, { id: randomUUID() })
      await bus.publish(two, { text: 'x' }, { id: randomUUID() })

      await eventually('the second delivery', () => consumed.includes('Named 2'))
      expect(consumed).to.have.members(['Counted 1', 'Named 1', 'Named 2'])
    })

    it('delivers each event to one member of a group', async () => {
      const event = counted()
      const got: number[] = []
      const members = new Set<string>()
      const member = (name: string) => async (received: Received<ReturnType<typeof counted>>) => {
        members.add(name)
        got.push(received.payload.n)
      }
      await bus.subscribe(event, member('a'), { group: 'shared' })
      await other.subscribe(event, member('b'), { group: 'shared' })
      const numbers = Array.from({ length: 40 }, (_, n) => n)

      await publishAll(event, numbers)
      await publishAll(event, [99])

      await eventually('the last one', () => got.includes(99) && got.length >= 41)
      expect(got.toSorted((a, b) => a - b)).to.deep.equal([...numbers, 99])
      expect(members).to.have.keys('a', 'b')
    })

    it('delivers an event once that was published twice with the same id', async () => {
      const event = counted()
      const got: number[] = []
      await bus.subscribe(event, async ({ payload }) => void got.push(payload.n), { group: 'group' })
      const id = randomUUID()

      await bus.publish(event, { n: 1 }, { id })
      await other.publish(event, { n: 1 }, { id })
      await publishAll(event, [2])

      await eventually('the event after', () => got.includes(2))
      expect(got).to.deep.equal([1, 2])
    })

    it('redelivers an event whose handler failed, counting, without delaying the others', async () => {
      const event = counted()
      const got: [number, number][] = []
      await bus.subscribe(
        event,
        async ({ payload, deliveries }) => {
          got.push([payload.n, deliveries])
          if (payload.n === 1 && deliveries < 3) throw new Error('not yet')
        },
        { group: 'group' },
      )

      await publishAll(event, [1, 2])

      await eventually('the third delivery', () => got.some(([n, deliveries]) => n === 1 && deliveries === 3))
      expect(got).to.have.deep.members([
        [1, 1],
        [2, 1],
        [1, 2],
        [1, 3],
      ])
    })

    it('keeps the events of a group without members', async () => {
      const event = counted()
      const got: number[] = []
      const subscription = await bus.subscribe(event, async () => {}, { group: 'away' })
      await subscription[Symbol.asyncDispose]()

      await publishAll(event, [1, 2])
      await bus.subscribe(event, async ({ payload }) => void got.push(payload.n), { group: 'away' })

      await eventually('both', () => got.length === 2)
      expect(got).to.deep.equal([1, 2])
    })

    it('waits for the handler under way when a subscription ends, and delivers nothing more to it', async () => {
      const event = counted()
      const [entered, release] = [deferred(), deferred()]
      const done: number[] = []
      const subscription = await bus.subscribe(
        event,
        async ({ payload }) => {
          entered.resolve()
          await release.promise
          done.push(payload.n)
        },
        { group: 'group' },
      )
      await publishAll(event, [1, 2])
      await entered.promise

      const ended = subscription[Symbol.asyncDispose]().then(() => [...done])
      release.resolve()

      expect(await ended).to.deep.equal([1])
    })

    it('delivers to a subscriber nothing that was published before', async () => {
      const event = counted()
      const seen: number[] = []
      await publishAll(event, [1])

      await other.subscribe(event, async ({ payload }) => void seen.push(payload.n))
      await publishAll(event, [2])

      await eventually('the second', () => seen.length > 0)
      expect(seen).to.deep.equal([2])
    })

    it('broadcasts to every receiver without a name, or to those of one name', async () => {
      const event = told()
      const [unnamed, nodeA, nodeB]: number[][] = [[], [], []]
      await bus.subscribe(event, async ({ payload }) => void unnamed!.push(payload.n))
      await bus.subscribe(event, async ({ payload }) => void nodeA!.push(payload.n), { as: 'node-a' })
      await other.subscribe(event, async ({ payload }) => void nodeB!.push(payload.n), { as: 'node-b' })

      void other.publish(event, { n: 1 })
      void other.publish(event, { n: 2 }, { to: 'node-a' })
      void other.publish(event, { n: 3 }, { to: 'node-b' })

      await eventually('all three', () => unnamed!.length + nodeA!.length + nodeB!.length === 3)
      expect({ unnamed, nodeA, nodeB }).to.deep.equal({ unnamed: [1], nodeA: [2], nodeB: [3] })
    })

    it("broadcasts with the sender's request where there is one, and without an id", async () => {
      const event = told()
      const got: object[] = []
      await bus.subscribe(event, async ({ id, requestId, payload }) => void got.push({ id, requestId, ...payload }))

      void other.publish(event, { n: 1 }, { requestId: 'r1' })
      void other.publish(event, { n: 2 })

      await eventually('both', () => got.length === 2)
      expect(got).to.deep.equal([
        { id: '', requestId: 'r1', n: 1 },
        { id: '', requestId: undefined, n: 2 },
      ])
    })

    it('gives a request to one responder, with its context', async () => {
      const call = add()
      const asked: (string | undefined)[] = []
      const answer = async ({ a, b }: { a: number; b: number }, context: { requestId?: string | undefined }) => {
        asked.push(context.requestId)
        return { sum: a + b }
      }
      await bus.respond(call, answer)
      await other.respond(call, answer)

      const reply = await other.request(call, { a: 2, b: 3 }, { timeoutMs: 2_000, requestId: 'r1' })

      expect(reply).to.deep.equal({ sum: 5 })
      expect(asked).to.deep.equal(['r1'])
    })

    it('carries a refusal with its fields and headers', async () => {
      const call = add()
      await other.respond(call, async () => {
        throw refuse.owns_spaces({
          fields: { ownedSpaces: [{ id: '1', name: 's1' }] },
          headers: { 'Retry-After': '3' },
        })
      })

      const refusal = await bus.request(call, { a: 1, b: 1 }, { timeoutMs: 2_000 }).catch((error: unknown) => error)

      expect(refusal).to.include({ name: 'Refusal', code: 'owns_spaces', status: 409, message: 'owns_spaces' })
      expect(refusal).to.deep.include({
        fields: { ownedSpaces: [{ id: '1', name: 's1' }] },
        headers: { 'Retry-After': '3' },
      })
    })

    it('hides a fault from the caller and logs it at the responder', async () => {
      const call = add()
      await other.respond(call, async () => {
        throw new Error('secret detail')
      })

      const refusal = await bus.request(call, { a: 1, b: 1 }, { timeoutMs: 2_000 }).catch((error: unknown) => error)

      expect(refusal).to.include({ code: 'internal', status: 500, message: 'Internal server error' })
      expect(JSON.stringify(fixture.lines)).to.include('secret detail').and.include(call.subject)
    })

    it('tells apart that no responder exists and that none replied in time; both are answered with 503', async () => {
      const [silent, slow] = [add(), add()]
      const release = deferred()
      await other.respond(slow, async () => {
        await release.promise
        return { sum: 0 }
      })

      const ask = (call: ReturnType<typeof add>) =>
        bus.request(call, { a: 1, b: 1 }, { timeoutMs: 100 }).catch((error: unknown) => error)

      const [absent, late] = [await ask(silent), await ask(slow)]
      expect(absent).to.be.instanceOf(Unavailable).and.include({ reason: 'no-responders' })
      expect(late).to.be.instanceOf(Unavailable).and.include({ reason: 'timeout' })
      expect([absent, late].map((error) => toErrorResponse(error).refusal.status)).to.deep.equal([503, 503])
      release.resolve()
    })

    it('replies 503 with Retry-After, and logs, when something that the responder needs is unavailable', async () => {
      const call = add()
      await other.respond(call, async () => {
        throw new Unavailable('database away', { retryAfterSeconds: 2 })
      })

      const refusal = await bus.request(call, { a: 1, b: 1 }, { timeoutMs: 2_000 }).catch((error: unknown) => error)

      expect(refusal).to.include({ name: 'Refusal', code: 'unavailable', status: 503 })
      expect(refusal).to.deep.include({ headers: { 'Retry-After': '2' } })
      expect(JSON.stringify(fixture.lines)).to.include('database away').and.include(call.subject)
    })

    it('refuses to publish what does not fit the schema', async () => {
      const wrong = { n: 'one' } as unknown as { n: number }

      const sent = await bus.publish(counted(), wrong, { id: randomUUID() }).catch((error: unknown) => error)

      expect(sent).to.have.property('name', 'ZodError')
    })

    it('is ready until it is closed; then it waits for handlers under way and refuses to publish', async () => {
      await using opened = await start()
      const closing = await opened.connect()
      const event = counted()
      const [entered, release] = [deferred(), deferred()]
      let finished = false
      await closing.subscribe(
        event,
        async () => {
          entered.resolve()
          await release.promise
          finished = true
        },
        { group: 'group' },
      )
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
