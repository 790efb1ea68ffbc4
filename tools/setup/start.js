import './require-node.js'
import { ensureWebBuilt } from './build-web.js'
import { ensureInstalled } from './install.js'
import { runProgram } from './run.js'

await ensureInstalled()
await ensureWebBuilt()
process.exitCode = await runProgram('deploy/embedded/main.ts', process.argv.slice(2))
