// node mocha-process.ts <reporter> <file ...>: sends the counts of each file, and waits until they are noted.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import Mocha from 'mocha'
import { collectStatements } from './collect-statements.ts'
import { watchRefusals } from './undeclared-refusals.ts'

const shutdownLimitMs = 5_000

const exitWithParent = (): void => process.exit(1)
process.on('disconnect', exitWithParent) // the run was stopped

const [reporter = 'spec', ...files] = process.argv.slice(2)
const { timeout } = JSON.parse(readFileSync('.mocharc.json', 'utf8')) as { timeout: number }
const undeclared = watchRefusals()
collectStatements()
for (const file of files) {
  const counts = await runFile(file)
  const noted = once(process, 'message')
  await new Promise((sent) => process.send?.(counts, sent))
  await noted
}
process.off('disconnect', exitWithParent)
process.disconnect()
setTimeout(() => {
  console.log(`  still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit()
}, shutdownLimitMs).unref()

async function runFile(file: string): Promise<{ passed: number; failed: number }> {
  const mocha = new Mocha({ timeout, reporter, forbidOnly: true, forbidPending: true, color: process.stdout.isTTY })
  mocha.addFile(file)
  await mocha.loadFilesAsync()
  undeclared.clear()
  return await new Promise((ended) => {
    const runner = mocha.run((failed) => {
      for (const refusal of undeclared) console.log(`  a refusal that its endpoint does not declare: ${refusal}`)
      ended({ passed: runner.stats?.passes ?? 0, failed: failed + undeclared.size })
    })
  })
}
