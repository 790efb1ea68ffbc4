// `npm run test:fuzz -- [requests] [frames] [seed]`: 100,000 of each by default, then the counts. The same seed sends the
// same inputs; a finding names the seed of its case.
import { formatRun } from './report.ts'
import { holdingsGrowth } from './growth.ts'
import { runFuzz } from './run-fuzz.ts'

const [requests = 100_000, frames = 100_000, seed = 1] = process.argv.slice(2).map(Number)
const log = (line: string): void => void process.stdout.write(`${line}\n`)

if (![requests, frames, seed].every((value) => Number.isInteger(value) && value >= 0)) {
  process.stderr.write('usage: npm run test:fuzz -- [requests] [frames] [seed], whole numbers\n')
  process.exit(1)
}
const run = await runFuzz({ requests, frames, seed, log })
const growth = holdingsGrowth(run)
log(formatRun(run))
for (const line of growth) log(line)
process.exit(run.findings.length + growth.length === 0 ? 0 : 1)
