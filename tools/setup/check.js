// npm run check [-- folder ...]: folders narrow lint and format.
import './require-node.js'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ensureInstalled } from './install.js'
import { pinnedNode, root } from './project.js'

const folders = process.argv.length > 2 ? process.argv.slice(2) : ['.']
const cache = join(root, 'node_modules/.cache')
const cached = (name) => ['--cache', '--cache-strategy', 'content', '--cache-location', join(cache, name)]
// TypeScript 7 takes a fifth of the time. The linter needs TypeScript 6.
const compiler = 'native-typescript/bin/tsc'
const cruiser = 'dependency-cruiser/bin/dependency-cruiser.mjs'

const checkOf = (heading, file, ...args) => ({ heading, file, args })
const ofPackage = (heading, file, ...args) => checkOf(heading, `node_modules/${file}`, ...args)

// The linter takes as long as all others.
const lanes = [
  [ofPackage('lint (eslint)', 'eslint/bin/eslint.js', ...cached('eslint.json'), ...folders)],
  [
    ofPackage('types (tsc)', compiler, '--noEmit', '--incremental', '--tsBuildInfoFile', join(cache, 'tsc.json')),
    ofPackage('format (prettier)', 'prettier/bin/prettier.cjs', '--check', ...cached('prettier.json'), ...folders),
    ofPackage('structure (dependency-cruiser)', cruiser, 'gateway', 'services', 'libs', 'deploy', 'examples'),
    checkOf('rules', 'tools/rules/print-rules.ts', '--check'),
    ofPackage('words (markdownlint)', 'markdownlint-cli2/markdownlint-cli2-bin.mjs'),
    checkOf('settings', 'tools/settings/main.ts', '--check'),
    checkOf('command line', 'tools/command-line/main.ts', '--check'),
    checkOf('licenses', 'tools/supply-chain/licenses.ts', '--check'),
  ],
]

await ensureInstalled()
console.log(`checking: ${lanes.flatMap((lane) => lane.map(({ heading }) => heading)).join(', ')}`)
await Promise.all(
  lanes.map(async (lane) => {
    for (const check of lane) if (!(await runCheck(check))) process.exitCode = 1
  }),
)

/** Prints what the check printed as one piece. Gives whether it found nothing. */
async function runCheck({ heading, file, args }) {
  const child = spawn(pinnedNode, [join(root, file), ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [status] = await once(child, 'close')
  console.log(`\n== ${heading}\n${output}== ${heading}: ${status === 0 ? 'ok' : 'FAILED'}`)
  return status === 0
}
