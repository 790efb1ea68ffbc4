// node tools/setup/launch.js <npm script> [arguments]
import './require-node.js'
import { ensureProgramsBuilt } from './build-programs.js'
import { ensureWebBuilt } from './build-web.js'
import { ensureInstalled } from './install.js'
import { makeFolder } from './make-folder.js'
import { ensurePrograms } from './programs.js'
import { dataFolder, log } from './project.js'
import { runProgram } from './run-program.js'

const scripts = {
  start: { file: 'deploy/embedded/main.ts', programs: [] },
  gatehouse: { file: 'deploy/cli/main.ts', programs: [] },
  example: { file: 'deploy/example/main.ts', programs: ['nats-server', 'python3'] },
  cluster: { file: 'deploy/cluster/main.ts', programs: ['nats-server', 'redis-server'] },
  bench: { file: 'bench/main.ts', programs: ['nats-server', 'redis-server', 'chromium-headless-shell', 'haproxy'] },
  'test:faults': { file: 'test/faults/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:revocation': { file: 'test/revocation/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:upgrade': { file: 'test/upgrade/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:containers': { file: 'test/containers/main.ts', programs: [] },
  screenshots: {
    file: 'test/browser/screenshots.ts',
    programs: ['nats-server', 'redis-server', 'chromium-headless-shell'],
  },
  probe: { file: 'tools/probe/main.ts', programs: [] },
  conformance: { file: 'test/conformance/main.ts', programs: [] },
  'test:simulation': { file: 'test/simulation/main.ts', programs: [] },
  'test:mesh': { file: 'test/mesh/main.ts', programs: [] },
  'test:fuzz': { file: 'test/fuzz/main.ts', programs: [] },
}

const [name = '', ...args] = process.argv.slice(2)
const script = scripts[name]
if (!script) {
  log(`unknown script "${name}": one of ${Object.keys(scripts).join(', ')}`)
  process.exit(1)
}
try {
  makeFolder(dataFolder())
} catch (error) {
  log(`GATEHOUSE_DATA: cannot make the folder ${dataFolder()} (${String(error)}); choose another one`)
  process.exit(1)
}
await ensureInstalled()
await ensurePrograms(script.programs)
await ensureProgramsBuilt()
if (!['gatehouse', 'probe', 'conformance'].includes(name)) await ensureWebBuilt()
process.exitCode = await runProgram(script.file, args)
