import type { FaultRun } from './run-faults.ts'

/** What a run counted, as a terminal shows it well. */
export function formatRun({ history, seconds }: FaultRun): string {
  const counts = history.counts()
  const width = Math.max(...counts.map(([what]) => what.length))
  const breaches = history.breaches()
  return [
    `after ${seconds.toFixed(0)} s:`,
    ...counts.map(([what, times]) => `  ${what.padEnd(width)}  ${times}`),
    breaches.length === 0 ? 'no promise was broken' : `${breaches.length} promises were broken:`,
    ...new Set(breaches.map((breach) => `  ${breach}`)),
  ].join('\n')
}
