// node tools/setup/launch.js <npm script> [arguments]
import './require-node.js'
import { ensureProgramsBuilt } from './build-programs.js'
import { ensureWebBuilt } from './build-web.js'
import { ensureInstalled } from './install.js'
import { makeFolder } from './make-folder.js'
import { ensurePrograms } from './programs.js'
import { dataFolder, log } from './project.js'
import { runProgram } from './run-program.js'
import { scripts } from './scripts.js'

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
