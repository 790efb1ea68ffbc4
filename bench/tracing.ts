import { currentSpan, type Tracing } from '@gatehouse/runtime'
import type { Line } from './report.ts'

const rounds = 9
const requests = 200_000
/** Steps of a request that ask whether they belong to a span: the gateway, the service, statements and events. */
const stepsPerRequest = 10
const limitNs = 1_000

/** What a request costs more because it could be traced, in a process that exports no traces. */
export async function benchmark(): Promise<Line[]> {
  const spent: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const [bare, asked] = [await measure(false), await measure(true)]
    // The first round warms up.
    if (round > 0) spent.push(asked - bare)
  }
  spent.sort((one, other) => one - other)
  const median = spent[Math.floor(rounds / 2)]!
  return [
    {
      what: `tracing off: ${stepsPerRequest} steps of a request ask for their span`,
      measured: `${median.toFixed(0)} ns a request`,
      peer: `${spent[0]!.toFixed(0)} to ${spent.at(-1)!.toFixed(0)} ns in ${rounds} rounds`,
      ratio: null,
      limit: `≤ ${limitNs} ns`,
      within: median <= limitNs,
    },
  ]
}

/** Nanoseconds for each request whose steps await each other, and ask for their span or do not. */
async function measure(asks: boolean): Promise<number> {
  const tracing = undefined as Tracing | undefined
  const startedAt = process.hrtime.bigint()
  for (let request = 0; request < requests; request += 1) {
    if (asks) tracing?.startSpan('GET', 'server').end()
    for (let step = 0; step < stepsPerRequest; step += 1) if (asks) currentSpan()?.set({ step })
    await Promise.resolve()
  }
  return Number(process.hrtime.bigint() - startedAt) / requests
}
