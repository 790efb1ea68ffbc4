import { currentSpan, type Tracing } from '@gatehouse/runtime'
import { absoluteLine, type Line } from './report.ts'
import { measureInRounds, median, type Run } from './rounds.ts'

const requests = 200_000
/** Steps of a request that ask whether they belong to a span: the gateway, the service, statements and events. */
const stepsPerRequest = 10

/** What a request costs more because it could be traced, in a process that exports no traces. */
export async function benchmark(run: Run): Promise<Line[]> {
  const { bare, traceable } = await measureInRounds(run.rounds(9), {
    bare: () => measure(false),
    traceable: () => measure(true),
  })
  const format = (nanoseconds: number): string => `${nanoseconds.toFixed(0)} ns`
  return [
    absoluteLine({
      what: `tracing off: ${stepsPerRequest} steps of a request ask for their span, each request`,
      values: traceable.map((value, round) => value - bare[round]!),
      peer: `the loop without them ${format(median(bare))}`,
      format,
      bound: { atMost: 1_000 },
    }),
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
