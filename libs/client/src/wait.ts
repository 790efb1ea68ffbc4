import type { ClientClock } from './platform.ts'

/** False: the signal fired first. */
export function wait(clock: ClientClock, ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = () => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      resolve(!signal.aborted)
    }
    const timer = clock.setTimeout(finish, ms)
    signal.addEventListener('abort', finish)
    if (signal.aborted) finish()
  })
}

/** Aborts with the first of both. Where it stands in for `AbortSignal.any`, they remember it until they abort. */
export function anySignal(one: AbortSignal, other: AbortSignal | null | undefined): AbortSignal {
  const both = [one, other ?? one]
  // eslint-disable-next-line browsers/refuse-newer-apis -- it forgets followers that nobody needs any more
  if ('any' in AbortSignal) return AbortSignal.any(both)
  const first = new AbortController()
  for (const signal of both) {
    if (signal.aborted) first.abort(signal.reason)
    signal.addEventListener('abort', () => first.abort(signal.reason))
  }
  return first.signal
}

const firstDelayMs = 1_000
const maxDelayMs = 30_000

/** In ms, exponential from 1 s to 30 s. `jitter` (0 to 1) spreads the reconnects. `attempt` counts from 0. */
export function reconnectDelayMs(attempt: number, jitter: number): number {
  const full = Math.min(maxDelayMs, firstDelayMs * 2 ** attempt)
  return Math.round(full / 2 + (full / 2) * jitter)
}
