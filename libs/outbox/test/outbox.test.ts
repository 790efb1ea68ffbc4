import { randomUUID } from 'node:crypto'
import { BusUnavailable, createLocalBus, type Bus } from '@gatehouse/bus'
import { defineEvent } from '@gatehouse/contracts'
import { backoffMs } from '@gatehouse/runtime'
import { capturedLog, eventually, openMigratedDatabase } from '@gatehouse/test-kit'
import type { MikroORM } from '@mikro-orm/postgresql'
import { expect } from 'chai'
import { z } from 'zod'
import { enqueue, startOutboxRelay } from '../src/index.ts'
import { outboxRetryBackoff } from '../src/policy.ts'

const noted = defineEvent({
  name: 'Noted',
  subject: 'event.test.noted.v1',
  payload: z.object({ n: z.int(), text: z.string() }),
})
const ending = defineEvent({
  name: 'Ending',
  subject: 'event.test.ending.v1',
  stream: 'events',
  payload: noted.payload,
})
const unknown = defineEvent({ name: 'Newer', subject: 'event.test.newer.v1', payload: z.object({}) })

type Published = { id: string; n: number; requestId: string | undefined }

/** A bus that records what is published, once for each call, and runs `act` before. */
function recordingBus(act: (published: Published) => Promise<void> = async () => {}): { bus: Bus; got: Published[] } {
  const got: Published[] = []
  const bus: Bus = {
    ...createLocalBus({ log: capturedLog().log }),
    async publish(_event, payload, { id = '', requestId } = {}) {
      const published = { id, n: (payload as { n: number }).n, requestId }
      await act(published)
      got.push(published)
    },
  }
  return { bus, got }
}

describe('the outbox', () => {
  let database: Awaited<ReturnType<typeof openMigratedDatabase>>
  let orm: MikroORM
  const { log, lines } = capturedLog()
  const events = [noted]

  before(async () => {
    database = await openMigratedDatabase({ connections: 10 })
    orm = database.orm
  })

  beforeEach(() => orm.em.fork().execute('truncate outbox'))

  after(async () => {
    await database[Symbol.asyncDispose]()
  })

  const save = async (numbers: number[], text = 'note'): Promise<string[]> => {
    const ids = numbers.map(() => randomUUID())
    await orm.em.fork().transactional(async (em) => {
      for (const [index, n] of numbers.entries()) {
        await enqueue(em, noted, { n, text }, { id: ids[index]!, requestId: `r${n}` })
      }
    })
    return ids
  }

  const left = async (): Promise<number> => {
    const [row] = await orm.em.fork().execute<{ count: number }[]>('select count(*)::int as count from outbox')
    return row!.count
  }

  it('publishes what was committed, whatever its text, in order, and then deletes it', async () => {
    await using bus = createLocalBus({ log })
    const got: unknown[] = []
    await bus.subscribe(noted, async ({ id, payload, requestId }) => void got.push({ id, ...payload, requestId }))
    await using relay = startOutboxRelay({ orm, bus, log, events }, { pollMs: 60_000 })
    const text = `? ?? $1 :x 'quoted' "double" \\ \n {"a":1} é`

    const [first, second] = await save([1, 2], text)
    relay.notify()

    await eventually('both', () => got.length === 2)
    expect(got).to.deep.equal([
      { id: first, n: 1, text, requestId: 'r1' },
      { id: second, n: 2, text, requestId: 'r2' },
    ])
    await eventually('the table is empty', async () => (await left()) === 0)
  })

  it('publishes nothing that was rolled back', async () => {
    const { bus, got } = recordingBus()
    await using relay = startOutboxRelay({ orm, bus, log, events })
    const rolledBack = orm.em.fork().transactional(async (em) => {
      await enqueue(em, noted, { n: 1, text: 'never' }, { id: randomUUID() })
      throw new Error('rolled back')
    })
    await rolledBack.catch(() => {})

    await save([2])
    relay.notify()

    await eventually('the one that was committed', () => got.length > 0)
    expect(got.map(({ n }) => n)).to.deep.equal([2])
  })

  it('refuses to save what does not fit the schema', async () => {
    const wrong = { n: 'one', text: '' } as unknown as { n: number; text: string }

    const saved = await enqueue(orm.em.fork(), noted, wrong, { id: randomUUID() }).catch((error: unknown) => error)

    expect(saved).to.have.property('name', 'ZodError')
    expect(await left()).to.equal(0)
  })

  it('publishes again with the same id after a crash between publishing and deleting', async () => {
    const [id] = await save([1])
    const dying = recordingBus(async () => {
      await endRelayConnections(orm)
    })
    const crashed = startOutboxRelay({ orm, bus: dying.bus, log, events }, { pollMs: 60_000 })
    await eventually('it was published', () => dying.got.length > 0)
    await crashed[Symbol.asyncDispose]()
    expect(await left()).to.equal(1)

    const { bus, got } = recordingBus()
    await using _relay = startOutboxRelay({ orm, bus, log, events })

    await eventually('it is published again', async () => got.length > 0 && (await left()) === 0)
    expect(dying.got[0]!.id).to.equal(id)
    expect(got.map((published) => published.id)).to.deep.equal([id])
  })

  it('keeps everything while the bus is down, without a busy loop, and publishes it in order after', async () => {
    let down = true
    let attempts = 0
    const { bus, got } = recordingBus(async () => {
      attempts += 1
      if (down) throw new BusUnavailable('disconnected')
    })
    await save([1, 2, 3])
    lines.length = 0
    await using relay = startOutboxRelay({ orm, bus, log, events })
    await eventually('two rounds failed', () => attempts >= 6)
    for (let times = 0; times < 100; times += 1) relay.notify()
    expect(await left()).to.equal(3)

    down = false
    await save([4])
    relay.notify()

    await eventually('all', () => got.length === 4)
    expect(got.map(({ n }) => n)).to.deep.equal([1, 2, 3, 4])
    const pauses = lines.flatMap(({ msg, retryInMs }) =>
      msg === 'outbox relay failed, retry scheduled' ? [retryInMs] : [],
    )
    expect(pauses).to.deep.equal(pauses.map((_, failures) => backoffMs(failures, outboxRetryBackoff)))
    expect(attempts).to.equal(3 * pauses.length + 4)
  })

  it('publishes at once what ends sessions, although the stream of all other events refuses a batch of them', async () => {
    const got: number[] = []
    const bus: Bus = {
      ...recordingBus().bus,
      async publish({ stream }, payload) {
        if (stream !== 'events') throw new BusUnavailable('no-responders')
        got.push((payload as { n: number }).n)
      },
    }
    await save(Array.from({ length: 250 }, (_, n) => n))
    await using relay = startOutboxRelay({ orm, bus, log, events: [noted, ending] }, { pollMs: 60_000 })
    await eventually('a batch is refused', () =>
      lines.some(({ msg }) => msg === 'outbox relay failed, retry scheduled'),
    )

    await orm.em.fork().transactional((em) => enqueue(em, ending, { n: 7, text: '' }, { id: randomUUID() }))
    relay.notify()

    await eventually('it is published', () => got.length === 1)
    await eventually('the others wait', async () => (await left()) === 250)
    expect(got).to.deep.equal([7])
  })

  it('backs off from an event that cannot be published, logs it, and publishes the others', async () => {
    const sql = 'insert into outbox (event_id, subject, payload) values (?, ?, ?::jsonb)'
    const poisoned = randomUUID()
    await orm.em.fork().execute(sql, [poisoned, noted.subject, '{"n":"poison","text":""}'])
    await save([1, 2])
    await using bus = createLocalBus({ log })
    const got: number[] = []
    await bus.subscribe(noted, async ({ payload }) => void got.push(payload.n))

    await using _relay = startOutboxRelay({ orm, bus, log, events })

    await eventually('the others', async () => got.length === 2 && (await left()) === 1)
    expect(lines.find(({ id }) => id === poisoned)).to.include({ msg: 'outbox event not publishable' })
  })

  it('leaves events that it does not know to newer releases', async () => {
    await orm.em.fork().transactional((em) => enqueue(em, unknown, {}, { id: randomUUID() }))
    const { bus, got } = recordingBus()
    await using relay = startOutboxRelay({ orm, bus, log, events })
    await save([1])
    relay.notify()

    await eventually('the known one', async () => got.length === 1 && (await left()) === 1)
    expect(await relay.age()).to.be.above(0)
  })

  it('shares the table between relays: every event is published, none twice', async () => {
    const { bus, got } = recordingBus()
    const ids = await save(Array.from({ length: 1_000 }, (_, n) => n))

    await using first = startOutboxRelay({ orm, bus, log, events })
    await using second = startOutboxRelay({ orm, bus, log, events })

    await eventually('the table is empty', async () => (await left()) === 0)
    expect(got.map(({ id }) => id)).to.have.members(ids)
    expect(await Promise.all([first.age(), second.age()])).to.deep.equal([0, 0])
  })

  it('finishes the batch under way when it stops', async () => {
    const entered = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const { bus, got } = recordingBus(async () => {
      entered.resolve()
      await release.promise
    })
    await save([1])
    const relay = startOutboxRelay({ orm, bus, log, events })
    await entered.promise

    const stopped = relay[Symbol.asyncDispose]()
    release.resolve()
    await stopped

    expect(got).to.have.length(1)
    expect(await left()).to.equal(0)
  })
})

/** Ends the relay's transaction as a crash of its process would: the server rolls it back. */
async function endRelayConnections(orm: MikroORM): Promise<void> {
  await orm.em.fork().execute(
    `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and state = 'idle in transaction'`,
  )
}
