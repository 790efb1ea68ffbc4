import type { ClientClock } from './ports.ts'

/** Resolves after `ms`; gives whether the time passed (false: the signal fired first). */
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
