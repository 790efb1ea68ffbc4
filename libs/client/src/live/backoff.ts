const firstMs = 1_000
const longestMs = 30_000

/**
 * How long to wait before reconnecting, in ms: doubling from 1 s to 30 s, the upper half of each spread by `jitter` (0
 * to 1), so that the clients of a restarted server do not all come at once. `attempt` counts from 0.
 */
export function reconnectDelayMs(attempt: number, jitter: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 16))
  return Math.round(full / 2 + (full / 2) * jitter)
}
