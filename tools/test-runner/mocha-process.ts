// node mocha-process.ts <reporter> [word ...]: asks its parent for one file after the other, and says how each ended.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import Mocha from 'mocha'
import { collectStatements } from './collect-statements.ts'
import { titlePattern } from './select-files.ts'
import { watchRefusals } from './seen-refusals.ts'

type Result = { passed: number; failed: number; refusals: string[] }

const shutdownLimitMs = 5_000

const exitWithParent = (): void => process.exit(1)
process.on('disconnect', exitWithParent) // the run was stopped

const [reporter = 'spec', ...words] = process.argv.slice(2)
const { timeout } = JSON.parse(readFileSync('.mocharc.json', 'utf8')) as { timeout: number }
const refusals = watchRefusals()
collectStatements()
for (let file = await askForFile(); file !== null; file = await askForFile(await runFile(file)));
process.off('disconnect', exitWithParent)
process.disconnect()
setTimeout(() => {
  console.log(`  still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit()
}, shutdownLimitMs).unref()

/** Null: there is none left. */
async function askForFile(result?: Result): Promise<string | null> {
  const answer = once(process, 'message')
  process.send?.(result ?? 'ready')
  const [{ file }] = (await answer) as [{ file: string | null }]
  return file
}

async function runFile(file: string): Promise<Result> {
  const mocha = new Mocha({ timeout, reporter, forbidOnly: true, forbidPending: true, color: process.stdout.isTTY })
  const pattern = titlePattern(relative(process.cwd(), file), words)
  if (pattern) mocha.grep(new RegExp(pattern, 'i'))
  mocha.addFile(file)
  await mocha.loadFilesAsync()
  refusals.undeclared.clear()
  refusals.declared.clear()
  const result = await new Promise<Result>((ended) => {
    const runner = mocha.run((failed) => {
      const { undeclared, declared } = refusals
      for (const refusal of undeclared) console.log(`  a refusal that its endpoint does not declare: ${refusal}`)
      const passed = runner.stats?.passes ?? 0
      ended({ passed, failed: failed + undeclared.size, refusals: [...declared] })
    })
  })
  mocha.dispose() // it listens to the errors of the process
  return result
}
