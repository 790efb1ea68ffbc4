// `npm run test:soak -- [--hours 6] [--seed 1] [--report <file>]`: a whole instance at a small load, without faults. Then what grows, and
// what was lost. Exits with 1 on either.
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { formatRun, isSound } from './report.ts'
import { runSoak, wholeReplicas } from './run-soak.ts'

const text = (preset: string) => ({ type: 'string', default: preset }) as const
const { values } = parseArgs({ options: { hours: text('6'), seed: text('1'), report: text('') } })
const [hours, seed] = [Number(values.hours), Number(values.seed)]
const log = (line: string): void => void process.stdout.write(`${line}\n`)

if (!(hours > 0) || !Number.isInteger(seed)) {
  process.stderr.write('--hours above 0, --seed a whole number\n')
  process.exit(1)
}
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
log(`seed ${seed}, ${hours} h`)
const run = await runSoak({ hours, seed, replicas: wholeReplicas, log, stop: stopping.signal })
const report = formatRun(run)
log(report)
if (values.report) writeFileSync(values.report, `${report}\n`)
process.exit(isSound(run) ? 0 : 1)
