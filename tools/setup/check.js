// npm run check: types, lint, format, index of rules, licenses. All of them run, and any failure is exit code 1.
import './require-node.js'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ensureInstalled } from './install.js'
import { pinnedNode, root } from './project.js'

const checks = [
  { heading: 'types (tsc)', file: 'node_modules/typescript/bin/tsc', args: ['--noEmit'] },
  { heading: 'lint (eslint)', file: 'node_modules/eslint/bin/eslint.js', args: ['.'] },
  { heading: 'format (prettier)', file: 'node_modules/prettier/bin/prettier.cjs', args: ['--check', '.'] },
  { heading: 'index of rules', file: 'tools/rules/main.ts', args: ['--check'] },
  { heading: 'licenses', file: 'tools/supply-chain/licenses-main.ts', args: ['--check'] },
]

await ensureInstalled()
for (const { heading, file, args } of checks) {
  console.log(`\n== ${heading}`)
  const path = join(root, file)
  const { status } = spawnSync(pinnedNode, [path, ...args], { cwd: root, stdio: 'inherit' })
  console.log(`== ${heading}: ${status === 0 ? 'ok' : 'FAILED'}`)
  if (status !== 0) process.exitCode = 1
}
