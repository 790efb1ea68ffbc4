import { readFileSync } from 'node:fs'
import { policy } from '../policy.ts'

type Limits = { pid: number; memoryBytes: number; seconds: number }

/** Calls `onExceeded` once. Without /proc only the time is limited. */
export function limitProcess(
  { pid, memoryBytes, seconds }: Limits,
  onExceeded: (what: 'memory' | 'time') => void,
): Disposable {
  const deadline = performance.now() + seconds * 1_000
  const timer = setInterval(() => {
    const exceeded = residentBytes(pid) > memoryBytes ? 'memory' : performance.now() > deadline ? 'time' : undefined
    if (!exceeded) return
    clearInterval(timer)
    onExceeded(exceeded)
  }, policy.imageWatchMs)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Synchronous: procfs answers from memory, in about 20 µs. */
function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024
  } catch {
    return 0
  }
}
