/** Exponential backoff in milliseconds: `firstMs` for attempt 0, doubled for each further one, `mostMs` at most. */
export function backoffMs(attempt: number, { firstMs, mostMs }: { firstMs: number; mostMs: number }): number {
  // Beyond 2^30 the factor has long passed every `mostMs`, and would end as Infinity.
  return Math.min(mostMs, firstMs * 2 ** Math.min(Math.max(attempt, 0), 30))
}
