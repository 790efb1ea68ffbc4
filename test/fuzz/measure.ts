import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What a process holds: open file descriptors, and memory in MiB after a collection. */
export type Holdings = { descriptors: number; heapMiB: number; rssMiB: number }

/** Of this process, in which the instance and its clients run. */
export function measureHoldings(): Holdings {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, rss } = process.memoryUsage()
  const mebibytes = (bytes: number): number => Math.round(bytes / 1024 ** 2)
  return { descriptors: countDescriptors(), heapMiB: mebibytes(heapUsed), rssMiB: mebibytes(rss) }
}

/** Waits until at most so many descriptors are open, or until the time is over. */
export async function waitForDescriptors(most: number, limitMs: number): Promise<void> {
  const until = performance.now() + limitMs
  while (countDescriptors() > most && performance.now() < until) await pause(100)
}

function countDescriptors(): number {
  return readdirSync('/proc/self/fd').length
}
