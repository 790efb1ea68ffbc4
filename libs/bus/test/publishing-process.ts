import { randomUUID } from 'node:crypto'
import { capturedLog, eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { connectNats } from '../src/index.ts'
import type { decisive } from './definitions.ts'

/** The longest wait for another leader, or for the end of a cut. */
const limitMs = 120_000
/** Between the numbers of one process, so that each process has its own. */
const step = 10

export type PublishingProcess = Awaited<ReturnType<typeof openPublishingProcess>>

type Options = { url: string; event: ReturnType<typeof decisive>; first?: number }

/** A process that receives the numbers of all processes, and from `begin` on publishes some, each until it is acknowledged and delivered here. */
export async function openPublishingProcess({ url, event, first = 0 }: Options) {
  await using opening = new AsyncDisposableStack()
  const { log } = capturedLog()
  const bus = opening.use(await connectNats({ url, name: `process ${first}`, log }))
  const [seen, handled, acknowledged]: [number[], number[], number[]] = [[], [], []]
  const counts = { longestMs: 0 }
  let isOver = false as boolean
  opening.use(await bus.subscribe(event, async ({ payload }) => void seen.push(payload.n)))
  opening.use(
    await bus.subscribe(event, async ({ payload }) => void handled.push(payload.n), { group: 'of-all-processes' }),
  )

  async function publish(n: number) {
    const id = randomUUID()
    const startedAt = performance.now()
    await eventually('it is acknowledged', () => bus.publish(event, { n }, { id }).then(() => true), limitMs)
    acknowledged.push(n)
    await eventually('it is delivered', () => seen.includes(n), limitMs)
    counts.longestMs = Math.max(counts.longestMs, performance.now() - startedAt)
  }

  async function publishAll() {
    for (let n = first; !isOver; n += step) await publish(n)
  }
  let publishing = Promise.resolve()
  const open = opening.move()
  return {
    bus,
    seen,
    handled,
    acknowledged,
    counts,
    begin() {
      publishing = publishAll()
      // A failure is that of `finish`.
      publishing.catch(() => {})
    },
    async publishesMore() {
      const before = acknowledged.length
      await eventually('it publishes more', () => acknowledged.length > before + 20, limitMs)
    },
    /** Without waiting for what it publishes now. */
    stop() {
      isOver = true
    },
    async finish() {
      isOver = true
      await publishing
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** The name of the error. */
export const rejectionOf = (publishing: Promise<void>) =>
  publishing.then(
    () => 'acknowledged',
    (error: unknown) => (error as Error).name,
  )

/** What they published, and nothing else: once to each process, in the order of its publisher, and to the group. */
export async function expectDelivered(processes: PublishingProcess[], others: number[] = []) {
  await Promise.all(processes.map((each) => each.finish()))
  const published = [...others, ...processes.flatMap(({ acknowledged }) => acknowledged)]
  const check = () => {
    expect([...new Set(processes.flatMap((each) => each.handled))]).to.have.members(published)
    for (const { seen } of processes) {
      expect(seen).to.have.members(published)
      for (const { acknowledged } of processes) {
        expect(seen.filter((n) => acknowledged.includes(n))).to.deep.equal(acknowledged)
      }
    }
    return true
  }
  await eventually('all were delivered', check)
  const longestMs = Math.max(...processes.map(({ counts }) => counts.longestMs))
  process.stdout.write(`longest wait ${Math.round(longestMs)} ms, ${published.length} events\n`)
}
