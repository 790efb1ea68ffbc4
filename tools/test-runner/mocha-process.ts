// node mocha-process.ts <reporter> [word ...]: asks its parent for one file after the other, and tells the counts of each.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import Mocha from 'mocha'
import { collectStatements } from './collect-statements.ts'
import { titlePattern } from './select-files.ts'
import { watchRefusals } from './undeclared-refusals.ts'

type Counts = { passed: number; failed: number }

const shutdownLimitMs = 5_000

const exitWithParent = (): void => process.exit(1)
process.on('disconnect', exitWithParent) // the run was stopped

const [reporter = 'spec', ...words] = process.argv.slice(2)
const { timeout } = JSON.parse(readFileSync('.mocharc.json', 'utf8')) as { timeout: number }
const undeclared = watchRefusals()
collectStatements()
for (let file = await askForFile(); file !== null; file = await askForFile(await runFile(file)));
process.off('disconnect', exitWithParent)
process.disconnect()
setTimeout(() => {
  console.log(`  still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit()
}, shutdownLimitMs).unref()

/** Null: there is none left. */
async function askForFile(counts?: Counts): Promise<string | null> {
  const answer = once(process, 'message')
  process.send?.(counts ?? 'ready')
  const [{ file }] = (await answer) as [{ file: string | null }]
  return file
}

async function runFile(file: string): Promise<Counts> {
  const mocha = new Mocha({ timeout, reporter, forbidOnly: true, forbidPending: true, color: process.stdout.isTTY })
  const pattern = titlePattern(relative(process.cwd(), file), words)
  if (pattern) mocha.grep(new RegExp(pattern, 'i'))
  mocha.addFile(file)
  await mocha.loadFilesAsync()
  undeclared.clear()
  const counts = await new Promise<Counts>((ended) => {
    const runner = mocha.run((failed) => {
      for (const refusal of undeclared) console.log(`  a refusal that its endpoint does not declare: ${refusal}`)
      ended({ passed: runner.stats?.passes ?? 0, failed: failed + undeclared.size })
    })
  })
  mocha.dispose() // it listens to the errors of the process
  return counts
}
