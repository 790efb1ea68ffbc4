// npm test [-- path ...]: runs the test files at or below the paths, by default all of them, over one set of servers.
import { join } from 'node:path'
import { startRunEnvironment } from '../../libs/test-kit/src/run-environment.ts'
import { ensureProgramsBuilt } from '../setup/build-programs.js'
import { ensureWebBuilt } from '../setup/build-web.js'
import { ensurePrograms } from '../setup/programs.js'
import { dataFolder, log, root } from '../setup/project.js'
import { listTestFiles, needsBrowser, planRun, readDurations, writeDurations } from './test-files.ts'
import { forgetStatements } from './collect-statements.ts'
import { runTestFiles, type FileReport } from './run-test-files.ts'

/** Most files wait half of their time. */
const parallelProcesses = 3
const heavyProcesses = 2

const stopping = new AbortController()
const isStopped = () => stopping.signal.aborted
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopping.abort(signal))

const ownProgram = {
  pgbouncer: 'test/managed-postgres.test.ts',
  nginx: 'test/web-proxies.test.ts',
  caddy: 'test/web-proxies.test.ts',
}

const paths = process.argv.slice(2)
const files = selectFiles()
const ofOneTest = (['pgbouncer', 'nginx', 'caddy'] as const).filter((name) => files.includes(ownProgram[name]))
const browser = needsBrowser(root, files) ? (['chromium-headless-shell'] as const) : []
await ensurePrograms(['nats-server', 'redis-server', 'python3', ...ofOneTest, ...browser])
if (files.some((file) => file.startsWith('test/'))) await ensureWebBuilt()
if (files.some((file) => /^(test|deploy|bench)\//.test(file))) await ensureProgramsBuilt()

const reporter = paths.length > 0 ? 'spec' : 'dot'
const durationsFile = join(dataFolder(), 'test-durations.json')
const { parallel, waiting, heavy, last } = planRun(files, readDurations(durationsFile))
const reports: FileReport[] = []
if (paths.length === 0) forgetStatements()
console.log('starting PostgreSQL, NATS and Redis for the tests')
{
  await using servers = await startRunEnvironment()
  const env = { ...process.env, ...servers.variables }
  await Promise.all([
    runAll(parallel, parallelProcesses, env),
    // Then it takes what the others have left.
    runAll(waiting, 1, env).then(() => runAll(parallel, 1, env)),
  ])
  await runAll(heavy, heavyProcesses, env)
  await runAll(last, 1, env)
}
writeDurations(durationsFile, reports)

const sumOf = (key: 'passed' | 'failed') => reports.reduce((sum, report) => sum + report[key], 0)
const [passed, failed] = [sumOf('passed'), sumOf('failed')]
const failedFiles = reports.filter((report) => report.failed > 0).map(({ file }) => file)
if (failedFiles.length > 0) console.log(`\nfailed in: ${failedFiles.join(', ')}`)
if (isStopped()) console.log(`stopped by ${String(stopping.signal.reason)} before all tests had run`)
process.exitCode = failed > 0 || passed === 0 || isStopped() ? 1 : 0
console.log(`\n${passed} passed, ${failed} failed`)

function selectFiles(): string[] {
  try {
    return listTestFiles(root, paths)
  } catch (error) {
    log((error as Error).message)
    process.exit(1)
  }
}

async function runAll(batches: string[][], processes: number, env: NodeJS.ProcessEnv): Promise<void> {
  const work = async () => {
    for (let files = batches.shift(); files && !isStopped(); files = batches.shift())
      await runTestFiles({ files, env, reporter, signal: stopping.signal, onReport })
  }
  await Promise.all(Array.from({ length: processes }, work))
}

function onReport(report: FileReport): void {
  if (isStopped()) return
  reports.push(report)
  const { file, passed, failed, seconds, output } = report
  const failures = failed > 0 ? `, ${failed} FAILED` : ''
  console.log(`${failed > 0 ? '✗' : '✓'} ${file}  ${passed} passed${failures}  (${seconds.toFixed(1)} s)`)
  if ((failed > 0 || reporter === 'spec') && output.trim()) console.log(output.trimEnd().replace(/^/gm, '  '))
}
