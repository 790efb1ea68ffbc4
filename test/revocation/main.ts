// `npm run test:revocation [accounts] [seed]`: changes accounts with open sockets under faults, then the control.
import { formatSocketRun, runSocketRevocations } from './sockets.ts'

const [accounts = 1_000, seed = 20_261_123] = process.argv.slice(2).map(Number)
if (![accounts, seed].every((each) => Number.isInteger(each) && each > 0)) {
  process.stderr.write('usage: npm run test:revocation [accounts] [seed], whole numbers from 1\n')
  process.exit(1)
}
const judged = await runSocketRevocations({ accounts, seed, judged: true })
process.stdout.write(`seed ${seed}\n${formatSocketRun(judged)}\n`)
const control = await runSocketRevocations({ accounts: Math.min(accounts, 40), seed, judged: false })
process.stdout.write(`the control, not judged\n${formatSocketRun(control)}\n`)
process.exit(judged.stale === 0 && control.stale > 0 ? 0 : 1)
