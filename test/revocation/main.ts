// `npm run test:revocation [accounts] [seed]`: changes accounts with open sockets under faults, then the control.
import { formatSocketRun, runSocketRevocations, startSocketScene } from './sockets.ts'
import { wholeSize } from './socket-tests.ts'

const [accounts = 1_000, seed = 20_261_123] = process.argv.slice(2).map(Number)
if (![accounts, seed].every((each) => Number.isInteger(each) && each > 0)) {
  process.stderr.write('usage: npm run test:revocation [accounts] [seed], whole numbers from 1\n')
  process.exit(1)
}
const controls = Math.min(accounts, 40)
await using scene = await startSocketScene({ ...wholeSize, changes: accounts + controls })
const judged = await runSocketRevocations(scene, { ...wholeSize, seed, changes: accounts, judged: true })
process.stdout.write(`seed ${seed}\n${formatSocketRun(judged)}\n`)
const control = await runSocketRevocations(scene, { ...wholeSize, seed, changes: controls, judged: false })
process.stdout.write(`the control, not judged\n${formatSocketRun(control)}\n`)
process.exitCode = judged.stale === 0 && control.stale > 0 ? 0 : 1
