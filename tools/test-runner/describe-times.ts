import type { FileReport } from './run-test-files.ts'
import type { ProcessorTime } from './processor-time.ts'

const longest = 20

/** What took longest, and what the processors worked for: where to look when a run takes too long. */
export function describeTimes(reports: readonly FileReport[], times: readonly ProcessorTime[]): string {
  const slowest = reports.toSorted((one, other) => other.seconds - one.seconds).slice(0, longest)
  const files = slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`)
  const total = times.reduce((sum, { seconds }) => sum + seconds, 0)
  const kinds = times.map(({ kind, seconds, processes }) => {
    const number = processes > 0 ? `  (${processes} processes)` : ''
    return `${seconds.toFixed(1).padStart(7)} s  ${kind}${number}`
  })
  const ofFiles = reports.length > 1 ? ['', 'what took longest', ...files] : []
  const ofKinds = times.length > 0 ? ['', `CPU time: ${total.toFixed(0)} s`, ...kinds] : []
  return [...ofFiles, ...ofKinds].join('\n')
}
