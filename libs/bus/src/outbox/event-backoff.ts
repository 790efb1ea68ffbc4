import { backoffMs } from '@gatehouse/runtime'
import { failedEventBackoff } from '../policy.ts'

/** Which outbox events could not be published and are not tried again yet, each for longer after each failure. */
export function createEventBackoff() {
  const failures = new Map<string, number>()
  const timers = new Map<string, NodeJS.Timeout>()

  return {
    /** The ids of the events that are not to be tried now. */
    ids: () => timers.keys(),
    /** Notes a failure. Gives for how long the event is not tried again, in ms. */
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
