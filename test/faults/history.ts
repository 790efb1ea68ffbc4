import { eventually } from '@gatehouse/test-kit'

/** What a run counted, and which invariants it saw violated. */
export type History = {
  count(what: string, by?: number): void
  /** An invariant was violated; the run fails. */
  violation(what: string): void
  counts(): [what: string, times: number][]
  /** Each one once, as it was first seen. */
  breaches(): readonly string[]
}

type Options = {
  /** When, and during which fault. */
  now?: () => string
  log?: (line: string) => void
}

/** How often something must have been counted. */
export type Goals = Readonly<Record<string, number>>

const goalsLimitMs = 120_000

export function createHistory({ now, log }: Options = {}): History {
  const counts = new Map<string, number>()
  const violations = new Map<string, string>()
  return {
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    violation(what) {
      if (violations.has(what)) return
      const line = now ? `${now()}: ${what}` : what
      violations.set(what, line)
      log?.(`VIOLATION ${line}`)
    },
    counts: () => [...counts].sort(([a], [b]) => a.localeCompare(b)),
    breaches: () => [...violations.values()],
  }
}

/** The load goes on until then, however slow the machine is. A goal that is not reached is a violation. */
export async function waitForGoals(history: History, goals: Goals): Promise<void> {
  const openGoals = (): string[] => {
    const counts = new Map(history.counts())
    return Object.keys(goals).filter((what) => (counts.get(what) ?? 0) < goals[what]!)
  }
  await eventually('the load has done enough', () => openGoals().length === 0, goalsLimitMs).catch(() =>
    history.violation(`the load did too little: ${openGoals().join(', ')}`),
  )
}
