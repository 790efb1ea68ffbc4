// `npm run test:upgrade [rounds]`: every process replaced `rounds` times (2 by default), first on this release, then from each
// release that releases.json names.
import { formatRun } from '../faults/report.ts'
import { readReleases, openReleaseTree } from './releases.ts'
import { runUpgrade } from './run-upgrade.ts'

const rounds = Number(process.argv[2] ?? 2)
const log = (line: string): void => void process.stdout.write(`${line}\n`)
const returnLimitMs = 2_000
const socketsOfEachUser = 40

if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write('usage: npm run test:upgrade [rounds], a whole number from 1\n')
  process.exit(1)
}

let breaches = 0

async function upgrade(title: string, from?: string): Promise<void> {
  log(`\n${title}`)
  const run = await runUpgrade({
    rounds,
    socketsOfEachUser,
    returnLimitMs,
    log,
    ...(from === undefined ? {} : { from }),
  })
  log(formatRun(run))
  log(`the slowest socket was back after ${run.worstReturnMs.toFixed(0)} ms`)
  breaches += run.history.breaches().length
}

const { upgradable, stopAndStart } = readReleases()
await upgrade('from this release to this release')
for (const { version, commit } of upgradable) {
  try {
    await using tree = await openReleaseTree(commit, log)
    await upgrade(`from ${version} (${commit.slice(0, 12)}) to this release`, tree.root)
  } catch (err) {
    log(`\nFAILED from ${version}: ${(err as Error).message}`)
    breaches += 1
  }
}
if (upgradable.length === 0)
  log('\nreleases.json names no earlier release from which a rolling upgrade is possible: none was run')
for (const { version, because } of stopAndStart) log(`from ${version}: a stop and a start, ${because}`)
process.exit(breaches === 0 ? 0 : 1)
