import { setTimeout as pause } from 'node:timers/promises'

/** How long each took, in milliseconds, of reads that are sent at a steady rate, whether or not the ones before have been answered. */
export async function measureSteadyReads(options: {
  count: number
  perSecond: number
  read: () => Promise<unknown>
}): Promise<number[]> {
  const startedAt = performance.now()
  const reads = Array.from({ length: options.count }, async (_, index) => {
    const dueAt = startedAt + (index * 1000) / options.perSecond
    await pause(Math.max(0, dueAt - performance.now()))
    const sentAt = performance.now()
    await options.read()
    return performance.now() - sentAt
  })
  return await Promise.all(reads)
}
