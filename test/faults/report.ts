import type { FaultRun } from './run-faults.ts'

/** What a run counted, as a table for a terminal. */
export function formatRun({ history, seconds }: FaultRun): string {
  const counts = history.counts()
  const width = Math.max(...counts.map(([what]) => what.length))
  const violations = history.breaches()
  return [
    `after ${seconds.toFixed(0)} s:`,
    ...counts.map(([what, times]) => `  ${what.padEnd(width)}  ${times}`),
    violations.length === 0 ? 'no invariant was violated' : `${violations.length} invariants were violated:`,
    ...violations.map((violation) => `  ${violation}`),
  ].join('\n')
}
