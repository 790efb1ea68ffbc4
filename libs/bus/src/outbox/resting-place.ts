const FIRST_REST_MS = 1_000
const LONGEST_REST_MS = 60_000

/** Remembers which facts could not be published, so that they wait, longer each time, while others pass. */
export function createRestingPlace() {
  const failures = new Map<string, number>()
  const timers = new Map<string, NodeJS.Timeout>()

  return {
    ids: () => timers.keys(),
    /** Lays a fact to rest. Gives for how long, in ms. */
    rest(id: string): number {
      const count = failures.get(id) ?? 0
      const restMs = Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(count, 10))
      failures.set(id, count + 1)
      clearTimeout(timers.get(id))
      const timer = setTimeout(() => timers.delete(id), restMs)
      timers.set(id, timer.unref())
      return restMs
    },
    forget: (id: string) => failures.delete(id),
    clear() {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}
