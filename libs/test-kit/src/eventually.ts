import { setTimeout as pause } from 'node:timers/promises'

/**
 * Waits until `check` gives something truthy, and gives that. Looks every 10 ms; after `timeoutMs` it fails with `what`
 * in the message and the last error of `check` as its cause.
 */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs
  let cause: unknown
  do {
    try {
      const found = await check()
      if (found) return found
      cause = undefined
    } catch (error) {
      cause = error
    }
    await pause(10)
  } while (performance.now() < deadline)
  throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause })
}
