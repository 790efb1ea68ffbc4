// npm run check: types, lint, format, index of rules, licenses. All of them run, and any failure is exit code 1.
import './require-node.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ensureInstalled } from './install.js'
import { pinnedNode, root } from './project.js'

/** The linter takes as long as all others together, so these run beside it. */
const checks = [
  [{ heading: 'lint (eslint)', file: 'node_modules/eslint/bin/eslint.js', args: ['.'] }],
  [
    { heading: 'types (tsc)', file: 'node_modules/typescript/bin/tsc', args: ['--noEmit'] },
    { heading: 'format (prettier)', file: 'node_modules/prettier/bin/prettier.cjs', args: ['--check', '.'] },
    { heading: 'index of rules', file: 'tools/rules/main.ts', args: ['--check'] },
    { heading: 'licenses', file: 'tools/supply-chain/licenses-main.ts', args: ['--check'] },
  ],
]

await ensureInstalled()
console.log(`checking: ${checks.flatMap((lane) => lane.map(({ heading }) => heading)).join(', ')}`)
await Promise.all(
  checks.map(async (lane) => {
    for (const check of lane) if (!(await runCheck(check))) process.exitCode = 1
  }),
)

/**
 * Runs a check and prints what it printed as one piece.
 * @param {{ heading: string, file: string, args: string[] }} check
 * @returns {Promise<boolean>} whether it found nothing
 */
async function runCheck({ heading, file, args }) {
  const child = spawn(pinnedNode, [join(root, file), ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [status] = await once(child, 'close')
  console.log(`\n== ${heading}\n${output}== ${heading}: ${status === 0 ? 'ok' : 'FAILED'}`)
  return status === 0
}
