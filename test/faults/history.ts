/** What a run counted, and which invariants it saw violated. */
export type History = {
  count(what: string, by?: number): void
  /** An invariant was violated; the run fails. */
  violation(what: string): void
  counts(): [what: string, times: number][]
  breaches(): readonly string[]
}

export function createHistory(): History {
  const counts = new Map<string, number>()
  const violations: string[] = []
  return {
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    violation: (what) => void violations.push(what),
    counts: () => [...counts].sort(([a], [b]) => a.localeCompare(b)),
    breaches: () => violations,
  }
}
