// `npm run test:faults -- [--hours 1] [--seed 1] [--only <part of a fault's name>] [--redis single]`: faults by a seed until the time is
// over, then the counts, and how long each fault kept writes, reads, sockets and events away.
import { parseArgs } from 'node:util'
import { formatAwayTimes } from './away-times.ts'
import { runLong } from './long-run.ts'
import { redisForms } from './redis-faults.ts'
import { formatRun } from './report.ts'

const text = (preset: string) => ({ type: 'string', default: preset }) as const
const { values } = parseArgs({ options: { hours: text('1'), seed: text('1'), only: text(''), redis: text('single') } })
const { only, redis } = values
const [hours, seed] = [Number(values.hours), Number(values.seed)]
const log = (line: string): void => void process.stdout.write(`${line}\n`)

if (!(hours > 0) || !Number.isInteger(seed) || !(redis in redisForms)) {
  process.stderr.write(`--hours above 0, --seed a whole number, --redis one of ${Object.keys(redisForms).join(', ')}\n`)
  process.exit(1)
}
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
log(`seed ${seed}, ${hours} h`)
const run = await runLong({ hours, seed, only, redis, log, stop: stopping.signal })
log(formatRun(run))
log('\nThe longest time without an answer, at the worse gateway; of several times the median and the worst:')
log(formatAwayTimes(run.away))
if (stopping.signal.aborted) log('stopped before its end: nothing was compared')
process.exit(run.history.breaches().length === 0 && !stopping.signal.aborted ? 0 : 1)
