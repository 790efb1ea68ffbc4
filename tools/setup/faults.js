import './require-node.js'
import { ensureWebBuilt } from './build-web.js'
import { ensureInstalled } from './install.js'
import { runProgram } from './run.js'
import { ensurePrograms } from './servers.js'

await ensureInstalled()
await ensurePrograms(['nats-server', 'redis-server'])
await ensureWebBuilt()
process.exitCode = await runProgram('test/faults/main.ts', process.argv.slice(2))
