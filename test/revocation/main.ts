// `npm run test:revocation [accounts] [seed]`: presents revoked tokens under faults, then changes accounts with open sockets, each with its control.
import { formatApplicationRun, runApplicationRevocations } from './applications.ts'
import { formatSocketRun, runSocketRevocations, startSocketScene } from './sockets.ts'
import { wholeSize } from './socket-tests.ts'
import { formatTokenRun, runTokenRevocations } from './tokens.ts'

const [accounts = 1_000, seed = 20_261_123] = process.argv.slice(2).map(Number)
if (![accounts, seed].every((each) => Number.isInteger(each) && each > 0)) {
  process.stderr.write('usage: npm run test:revocation [accounts] [seed], whole numbers from 1\n')
  process.exit(1)
}
process.stdout.write(`seed ${seed}\n`)
const replicas = { gateway: 2, 'session-gateway': 2, identity: 2 }
const tokens = await runTokenRevocations({ seed, replicas, workers: 6, faults: 11, changes: accounts })
process.stdout.write(`${formatTokenRun(tokens.run, tokens.control)}\n`)
const ofApplications = { gateway: 2, openid: 2, identity: 2 }
const applications = await runApplicationRevocations({
  seed,
  replicas: ofApplications,
  workers: 4,
  faults: 8,
  changes: accounts,
})
process.stdout.write(`${formatApplicationRun(applications)}\n`)
const controls = Math.min(accounts, 40)
await using scene = await startSocketScene({ ...wholeSize, changes: accounts + controls })
const judged = await runSocketRevocations(scene, { ...wholeSize, seed, changes: accounts, judged: true })
process.stdout.write(`${formatSocketRun(judged)}\n`)
const control = await runSocketRevocations(scene, { ...wholeSize, seed, changes: controls, judged: false })
process.stdout.write(`the control, not judged\n${formatSocketRun(control)}\n`)
const stale = tokens.run.stale.length + applications.stale.length + judged.stale
const hasControls = tokens.control.accepted > 0 && applications.before.accepted > 0 && control.stale > 0
const isSound = stale === 0 && hasControls
process.exitCode = isSound ? 0 : 1
