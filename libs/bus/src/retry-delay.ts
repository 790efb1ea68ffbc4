const FIRST_MS = 100
const LONGEST_MS = 30_000

/** How long, in ms, an event waits before its next delivery, after `deliveries` that failed. */
export function retryDelayMs(deliveries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(deliveries - 1, 20))
}
