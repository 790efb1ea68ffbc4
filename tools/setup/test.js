// npm test [-- path or word ...], npm run test:system: see tools/test-runner.
import './require-node.js'
import { ensureInstalled } from './install.js'
import { runProgram } from './run-program.js'

await ensureInstalled()
process.exitCode = await runProgram('tools/test-runner/main.ts', process.argv.slice(2))
