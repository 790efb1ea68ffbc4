// `npm run test:faults [rounds]`: every fault `rounds` times (5 by default), then the counts.
import { formatRun } from './report.ts'
import { runFaults, wholeSize } from './run-faults.ts'

const rounds = Number(process.argv[2] ?? 5)
const log = (line: string): void => void process.stdout.write(`${line}\n`)

if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write('usage: npm run test:faults [rounds], a whole number from 1\n')
  process.exit(1)
}
const run = await runFaults({ ...wholeSize, rounds, log })
log(formatRun(run))
process.exit(run.history.breaches().length === 0 ? 0 : 1)
