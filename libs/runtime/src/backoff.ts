/** In milliseconds: `firstMs` for attempt 0, doubled up to `mostMs`. */
export function backoffMs(attempt: number, { firstMs, mostMs }: { firstMs: number; mostMs: number }): number {
  // A higher power would end as Infinity.
  return Math.min(mostMs, firstMs * 2 ** Math.min(Math.max(attempt, 0), 30))
}
