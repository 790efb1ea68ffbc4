// npm test [-- path or word ...], npm run test:system: runs test files over one set of servers.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startRunEnvironment } from '../../libs/test-kit/src/run-environment.ts'
import { ensureProgramsBuilt } from '../setup/build-programs.js'
import { ensureWebBuilt } from '../setup/build-web.js'
import { ensurePrograms } from '../setup/programs.js'
import { dataFolder, log, root } from '../setup/project.js'
import { forgetStatements } from './collect-statements.ts'
import { watchProcessorTime } from './processor-time.ts'
import { describeTimes } from './describe-times.ts'
import { runTestFiles, type FileReport } from './run-test-files.ts'
import { describeSelection, selectFiles, type Selection } from './select-files.ts'
import { findUngiven } from './seen-refusals.ts'
import { isSystemTest, lastFile, listBrowserPrograms, orderFiles, readDurations, writeDurations } from './test-files.ts'

/** Most files wait half of their time. */
const parallelProcesses = 5
/** Whole systems load the machine. */
const systemProcesses = 3

const stopping = new AbortController()
const isStopped = () => stopping.signal.aborted
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopping.abort(signal))

const ownProgram = {
  pgbouncer: 'test/managed-postgres.system.test.ts',
  nginx: 'test/web-proxies.test.ts',
  caddy: 'test/web-proxies.test.ts',
  apache2: 'test/apache-openidc.system.test.ts',
  'libapache2-mod-auth-openidc': 'test/apache-openidc.system.test.ts',
  glewlwyd: 'test/glewlwyd.system.test.ts',
  buildah: 'tools/release/test/image-tool.system.test.ts',
} as const

const selection = select()
const { files, words } = selection
console.log(describeSelection(selection))
const programsOfOneTest = Object.keys(ownProgram) as (keyof typeof ownProgram)[]
const ofOneTest = programsOfOneTest.filter((name) => files.includes(ownProgram[name]))
await ensurePrograms(['nats-server', 'redis-server', 'python3', ...ofOneTest, ...listBrowserPrograms(root, files)])
if (files.some((file) => file.startsWith('test/'))) await ensureWebBuilt()
if (files.some((file) => /^(test|deploy|bench)\//.test(file))) await ensureProgramsBuilt()

const isWhole = selection.reason === ''
const reporter = isWhole ? 'dot' : 'spec'
const durationsFile = join(dataFolder(), 'test-durations.json')
const reports: FileReport[] = []
if (isWhole && files.includes(lastFile)) forgetStatements()
console.log('starting PostgreSQL, NATS and Redis for the tests')
const processorTime = watchProcessorTime()
{
  await using servers = await startRunEnvironment()
  const env = { ...process.env, ...servers.variables }
  using grown = files.includes(lastFile) ? growDatabases(env) : undefined
  const others = files.filter((file) => file !== lastFile)
  await runAll(orderFiles(others, readDurations(durationsFile)), env)
  if (grown) await runAll([lastFile], { ...env, ...(await grown.variables) })
}
writeDurations(durationsFile, reports)
console.log(describeTimes(reports, processorTime.stop()))

const ungiven =
  isWhole && !files.some(isSystemTest) ? findUngiven(new Set(reports.flatMap(({ refusals }) => refusals))) : []
for (const refusal of ungiven) console.log(`a refusal that an endpoint declares and no test sees: ${refusal}`)

const sumOf = (key: 'passed' | 'failed') => reports.reduce((sum, report) => sum + report[key], 0)
const [passed, failed] = [sumOf('passed'), sumOf('failed') + ungiven.length]
const failedFiles = reports.filter((report) => report.failed > 0)
// Again, because they stand far above, and whoever reads a log of CI may see its end only.
for (const { file, output } of isWhole ? failedFiles : []) console.log(`\n✗ ${file}\n${indent(output)}`)
if (failedFiles.length > 0) console.log(`\nfailed in: ${failedFiles.map(({ file }) => file).join(', ')}`)
if (isStopped()) console.log(`stopped by ${String(stopping.signal.reason)} before all tests had run`)
if (passed + failed === 0) console.log(`no test of these files contains "${words.join(' ')}"`)
process.exitCode = failed > 0 || passed === 0 || isStopped() ? 1 : 0
console.log(`\n${passed} passed, ${failed} failed`)

function select(): Selection {
  try {
    return selectFiles(root, process.argv.slice(2))
  } catch (error) {
    log((error as Error).message)
    process.exit(1)
  }
}

async function runAll(queue: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const processes = queue.every(isSystemTest) ? systemProcesses : parallelProcesses
  const options = { env, reporter, words, signal: stopping.signal, onReport }
  const length = Math.min(processes, queue.length)
  await Promise.all(Array.from({ length }, () => runTestFiles(queue, options)))
}

/** While the others run. Where it fails, `lastFile` does it again and says why. */
function growDatabases(env: NodeJS.ProcessEnv) {
  const child = fork(join(import.meta.dirname, 'grown-databases.ts'), { env })
  stopping.signal.addEventListener('abort', () => child.kill())
  const filled = once(child, 'message').then(([databases]) => ({ GATEHOUSE_TEST_GROWN: JSON.stringify(databases) }))
  const failed = once(child, 'exit').then(() => ({}))
  const stop = () => {
    if (child.connected) child.disconnect()
  }
  return { variables: Promise.race([filled, failed]), [Symbol.dispose]: stop }
}

function onReport(report: FileReport): void {
  const { file, passed, failed, seconds, output } = report
  if (isStopped() || passed + failed === 0) return
  reports.push(report)
  const failures = failed > 0 ? `, ${failed} FAILED` : ''
  console.log(`${failed > 0 ? '✗' : '✓'} ${file}  ${passed} passed${failures}  (${seconds.toFixed(1)} s)`)
  if ((failed > 0 || reporter === 'spec') && output.trim()) console.log(indent(output))
}

function indent(output: string): string {
  return output.trimEnd().replace(/^/gm, '  ')
}
