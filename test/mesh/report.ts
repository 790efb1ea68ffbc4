import type { MeshRun } from './run-mesh.ts'

/** What a run counted and found, as a table for a terminal; a finding about somebody comes with their journal. */
export function formatRun({ seed, journal, findings, seconds }: MeshRun): string {
  const counts = journal.counts()
  const width = Math.max(...counts.map(([what]) => what.length))
  return [
    `seed ${seed}, ${seconds.toFixed(0)} s, ${journal.people.length} people:`,
    ...counts.map(([what, times]) => `  ${what.padEnd(width)}  ${times}`),
    findings.length === 0 ? 'everything is where it should be' : `${findings.length} findings, seed ${seed}:`,
    ...findings.flatMap(({ what, person }) => [`  ${what}`, ...(person?.steps ?? []).map((step) => `      ${step}`)]),
  ].join('\n')
}
