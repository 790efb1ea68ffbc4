/** `now` is in milliseconds from any point, and never goes back. */
export type Timer = { now(): number; set(run: () => void, ms: number): unknown; clear(pending: unknown): void }

/** A pending delay does not keep the process alive. */
export const systemTimer: Timer = {
  now: () => performance.now(),
  set: (run, ms) => setTimeout(run, ms).unref(),
  clear: (pending) => clearTimeout(pending as NodeJS.Timeout | undefined),
}

export async function delay(timer: Timer, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void timer.set(resolve, ms))
}

/** In milliseconds since the Unix epoch. */
export type Clock = { now(): number }

export const systemClock: Clock = { now: () => Date.now() }

type Delays = Pick<Timer, 'set' | 'clear'>
const globalDelays: Delays = { set: setTimeout, clear: (pending) => clearTimeout(pending as NodeJS.Timeout) }

type Work<T> = Promise<T> | (() => T | Promise<T>)

/** Rejects with `onTimeout` after `ms`. The work itself goes on; its outcome is ignored. */
export async function withTimeout<T>(work: Work<T>, ms: number, onTimeout: () => Error, delays = globalDelays) {
  const late = Promise.withResolvers<never>()
  const pending = delays.set(() => late.reject(onTimeout()), ms)
  try {
    return await raceAgainst(late.promise, work)
  } finally {
    delays.clear(pending)
  }
}

/** Rejects with the reason of `signal`. The work itself goes on; its outcome is ignored. */
export async function abortable<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason as Error)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await raceAgainst(aborted.promise, work)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function raceAgainst<T>(limit: Promise<never>, work: Work<T>): Promise<T> {
  limit.catch(() => undefined)
  const running = typeof work === 'function' ? (async () => await work())() : work
  running.catch(() => undefined)
  return await Promise.race([limit, running])
}

const msPerItem = 2
const pauseMs = 20

/** Takes 2 ms for each item, and at most `maxMs` for all of them. The abort of `signal` ends it early. */
export async function runSpread<Item>(
  timer: Timer,
  items: readonly Item[],
  { maxMs, signal }: { maxMs: number; signal?: AbortSignal | undefined },
  run: (item: Item) => void,
): Promise<void> {
  const parts = Math.max(1, Math.floor(Math.min(maxMs, items.length * msPerItem) / pauseMs))
  const perPart = Math.ceil(items.length / parts)
  for (let first = 0; first < items.length; first += perPart) {
    if (first > 0) await delay(timer, pauseMs)
    if (signal?.aborted) return
    for (const item of items.slice(first, first + perPart)) run(item)
  }
}

/** In milliseconds: doubled from `firstMs` up to `mostMs`, or a table whose last delay repeats. */
type Backoff = { firstMs: number; mostMs: number } | readonly number[]

/** In milliseconds. `attempt` counts from 0. */
export function backoffMs(attempt: number, backoff: Backoff): number {
  const count = Math.max(attempt, 0)
  if (!('firstMs' in backoff)) return backoff[Math.min(count, backoff.length - 1)] ?? 0
  // A higher power would end as Infinity.
  return Math.min(backoff.mostMs, backoff.firstMs * 2 ** Math.min(count, 30))
}
