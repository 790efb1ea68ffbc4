import type { FuzzRun } from './run-fuzz.ts'

/** The counts of a run, line by line, then its findings. */
export function formatRun({ statuses, lockTimeouts, frames, before, after, findings }: FuzzRun): string {
  const counts = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${status || 'none'}: ${count}`)
  return [
    `responses by status: ${counts.join(', ')}`,
    `locks or connections not had in time: ${lockTimeouts}`,
    `frames sent: ${frames.sent} on ${frames.sockets} sockets, ${frames.ready} of them ready`,
    `descriptors ${before.descriptors} -> ${after.descriptors}, heap ${before.heapMiB} -> ${after.heapMiB} MiB, RSS ${before.rssMiB} -> ${after.rssMiB} MiB`,
    `findings: ${findings.length}`,
    ...findings,
  ].join('\n')
}
