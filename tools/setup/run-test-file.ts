// Runs one test file with mocha in this process and tells the parent how many tests passed and failed.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import Mocha from 'mocha'

/** What one test file came to; a pending test counts as failed. */
export type FileOutcome = { passed: number; failed: number }

const WIND_DOWN_MS = 5_000

/** Says nothing of tests that pass. */
class QuietReporter extends Mocha.reporters.Base {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options)
    runner.once('end', () => Mocha.reporters.Base.list(this.failures))
  }
}

const file = process.argv[2] ?? ''
const { timeout } = JSON.parse(readFileSync('.mocharc.json', 'utf8')) as { timeout: number }
process.on('disconnect', () => process.exit(1)) // the run was killed

const reporter = process.env.GATEHOUSE_TEST_TITLES ? 'spec' : QuietReporter
const mocha = new Mocha({ ui: 'bdd', timeout, forbidOnly: true, color: process.stdout.isTTY, reporter })
mocha.addFile(resolve(file))
await mocha.loadFilesAsync()

const outcome: FileOutcome = { passed: 0, failed: 0 }
const runner = mocha.run(finish)
runner.on('pass', () => (outcome.passed += 1))
runner.on('fail', () => (outcome.failed += 1))
runner.on('pending', (test) => {
  outcome.failed += 1
  console.log(`  pending, which counts as failed: ${test.fullTitle()}`)
})

function finish(): void {
  if (outcome.passed + outcome.failed === 0) {
    outcome.failed = 1
    console.log('  no test in this file')
  }
  process.removeAllListeners('disconnect')
  process.send?.(outcome, () => process.disconnect())
  setTimeout(() => {
    console.log(`  left open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit()
  }, WIND_DOWN_MS).unref()
}
