// Runs the test files named in the arguments over one set of private servers; the last line says how it went.
import { startRunEnvironment } from '@gatehouse/test-kit'
import { runTestFile } from './test-file.ts'
import type { FileReport } from './test-file.ts'

const SIDE_BY_SIDE = 2

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stopping.abort(signal))

const files = process.argv.slice(2)
const showTitles = process.env.GATEHOUSE_TEST_TITLES === '1'
const reports: FileReport[] = []

console.log('starting Postgres, NATS and Redis for the tests')
{
  await using servers = await startRunEnvironment()
  const env = { ...process.env, ...servers.variables }
  // Tests of the whole system measure, kill and wait: each has the machine to itself.
  await runAll(
    files.filter((file) => !isOfWholeSystem(file)),
    SIDE_BY_SIDE,
    env,
  )
  await runAll(files.filter(isOfWholeSystem), 1, env)
}

const unclean = reports.filter(({ failed }) => failed > 0)
if (unclean.length > 0) console.log(`\nfailed in: ${unclean.map(({ file }) => file).join(', ')}`)
if (stopping.signal.aborted) console.log(`stopped by ${String(stopping.signal.reason)} before all tests had run`)
const passed = reports.reduce((sum, report) => sum + report.passed, 0)
const failed = reports.reduce((sum, report) => sum + report.failed, 0)
process.exitCode = failed > 0 || passed === 0 || stopping.signal.aborted ? 1 : 0
console.log(`\n${passed} passed, ${failed} failed`)

function isOfWholeSystem(file: string): boolean {
  return file.startsWith('test/')
}

async function runAll(queue: string[], lanes: number, env: NodeJS.ProcessEnv): Promise<void> {
  const waiting = [...queue]
  const lane = async () => {
    for (let file = waiting.shift(); file && !stopping.signal.aborted; file = waiting.shift()) {
      const report = await runTestFile(file, env, stopping.signal)
      if (stopping.signal.aborted) return
      reports.push(report)
      print(report)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function print({ file, passed, failed, seconds, output }: FileReport): void {
  const failures = failed > 0 ? `, ${failed} FAILED` : ''
  console.log(`${failed > 0 ? '✗' : '✓'} ${file}  ${passed} passed${failures}  (${seconds.toFixed(1)} s)`)
  if ((failed > 0 || showTitles) && output.trim()) console.log(output.trimEnd().replace(/^/gm, '  '))
}
