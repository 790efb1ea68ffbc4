import { backoffMs } from '@gatehouse/runtime'
import { failedEventBackoff } from '../policy.ts'

export function createEventBackoff() {
  const failures = new Map<string, number>()
  const timers = new Map<string, NodeJS.Timeout>()

  return {
    ids: () => timers.keys(),
    /** Gives the delay of the next attempt in ms. */
    fail(id: string): number {
      const count = failures.get(id) ?? 0
      const retryInMs = backoffMs(count, failedEventBackoff)
      failures.set(id, count + 1)
      clearTimeout(timers.get(id))
      const timer = setTimeout(() => timers.delete(id), retryInMs)
      timers.set(id, timer.unref())
      return retryInMs
    },
    forget: (id: string) => failures.delete(id),
    clear() {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}
