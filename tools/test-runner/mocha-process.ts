// node mocha-process.ts <file> <reporter>: runs one test file and sends the parent process the counts.
import { readFileSync } from 'node:fs'
import Mocha from 'mocha'

const shutdownLimitMs = 5_000

process.on('disconnect', () => process.exit(1)) // the run was stopped

const [file = '', reporter = 'spec'] = process.argv.slice(2)
const { timeout } = JSON.parse(readFileSync('.mocharc.json', 'utf8')) as { timeout: number }
const mocha = new Mocha({ timeout, reporter, forbidOnly: true, forbidPending: true, color: process.stdout.isTTY })
mocha.addFile(file)
await mocha.loadFilesAsync()
const runner = mocha.run((failed) => {
  process.removeAllListeners('disconnect')
  process.send?.({ passed: runner.stats?.passes ?? 0, failed }, () => process.disconnect())
  setTimeout(() => {
    console.log(`  still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit()
  }, shutdownLimitMs).unref()
})
