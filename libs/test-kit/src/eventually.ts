import { setTimeout as pause } from 'node:timers/promises'

/** No wait that succeeds takes as long on a machine that is ten times slower. */
export const waitLimitMs = 60_000

/** Between two looks. One may take a core as long as what it waits for needs it: those of a long wait are rare. */
const pauseMs = { shortest: 10, ofWaited: 0.1, longest: 100 }

/**
 * Waits until `check` gives something truthy, and gives that. Looks every 10 ms at first, after a second ten times a
 * second; after `timeoutMs` it fails with `what` in the message and the last error of `check` as its cause.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  timeoutMs = waitLimitMs,
): Promise<NonNullable<T>> {
  const startedAt = performance.now()
  const waited = () => performance.now() - startedAt
  let cause: unknown
  do {
    try {
      const value = await check()
      if (value) return value
      cause = undefined
    } catch (error) {
      cause = error
    }
    await pause(Math.min(Math.max(waited() * pauseMs.ofWaited, pauseMs.shortest), pauseMs.longest))
  } while (waited() < timeoutMs)
  throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause })
}
