// `npm run test:faults [rounds]`: every fault, as many times as it says (5 where it does not), and then the counts.
import { formatRun } from './report.ts'
import { runFaults } from './run-faults.ts'

const rounds = Number(process.argv[2] ?? 5)
const say = (line: string): void => void process.stdout.write(`${line}\n`)

if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write('how many rounds? a whole number from 1\n')
  process.exit(1)
}
const run = await runFaults({ rounds, say })
say(formatRun(run))
process.exit(run.history.breaches().length === 0 ? 0 : 1)
