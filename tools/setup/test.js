import './require-node.js'
import { ensureWebBuilt } from './build-web.js'
import { ensureInstalled } from './install.js'
import { root, say } from './project.js'
import { runProgram } from './run.js'
import { ensurePrograms } from './servers.js'
import { listAllTestFiles, listTestFiles, needsBrowser } from './test-files.js'

const paths = process.argv.slice(2)
const files = chooseFiles()
await ensureInstalled()
await ensurePrograms(
  needsBrowser(root, files) ? ['nats-server', 'redis-server', 'chromium'] : ['nats-server', 'redis-server'],
)
if (files.some((file) => file.startsWith('test/'))) await ensureWebBuilt()
const env = { ...process.env, GATEHOUSE_TEST_TITLES: paths.length > 0 ? '1' : '' }
process.exitCode = await runProgram('tools/setup/run-tests.ts', files, env)

function chooseFiles() {
  try {
    return paths.length > 0 ? listTestFiles(root, paths) : listAllTestFiles(root)
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    process.exit(1)
  }
}
