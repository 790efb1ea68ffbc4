/** What a run recorded, and where it contradicts what was promised. */
export type History = {
  count(what: string, by?: number): void
  /** A promise that was broken; the run fails. */
  breach(what: string): void
  counts(): [what: string, times: number][]
  breaches(): readonly string[]
}

export function createHistory(): History {
  const counts = new Map<string, number>()
  const breaches: string[] = []
  return {
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    breach: (what) => void breaches.push(what),
    counts: () => [...counts].sort(([a], [b]) => a.localeCompare(b)),
    breaches: () => breaches,
  }
}
