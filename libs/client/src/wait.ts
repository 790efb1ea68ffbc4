import type { ClientClock } from './platform.ts'

/** Resolves to true after `ms`, or to false when the signal fires first. */
export function wait(clock: ClientClock, ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const finish = (passed: boolean) => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      resolve(passed)
    }
    const cancel = () => finish(false)
    const timer = clock.setTimeout(() => finish(true), ms)
    signal.addEventListener('abort', cancel)
  })
}
