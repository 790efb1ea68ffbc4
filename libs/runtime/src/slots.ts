import { createFairQueue } from './fair-queue.ts'
import { createQuota } from './quota.ts'

export type Slots = ReturnType<typeof createSlots>

type SlotsOptions = {
  /** How many are taken at once at most. The capacity may change. */
  inAll: () => number
  perSource: () => number
  waitMs: number
  maxWaiting?: number
  maxWaitingPerSource?: number
}

/** Slots of what is scarce, such as connections. Waiting sources take turns; those of one source are served in order. */
export function createSlots({ inAll, perSource, waitMs, ...most }: SlotsOptions) {
  const { maxWaiting = Infinity, maxWaitingPerSource = Infinity } = most
  const quota = createQuota(perSource, inAll)
  const queue = createFairQueue<(granted: boolean) => void>({ capacity: maxWaiting, perSource: maxWaitingPerSource })

  function grant(): void {
    while (queue.size() > 0 && quota.total() < inAll()) {
      const settle = queue.take(quota.take)
      if (!settle) return
      settle(true)
    }
  }
  return {
    tryTake: (source: string): boolean => quota.take(source),
    /** To be called when the capacity has grown. */
    grant,
    waiting: queue.size,
    /** Resolves to false after the time limit, when it is cancelled, and at once beyond the maximum of those that wait. */
    wait: (source: string) => {
      const { promise: granted, resolve } = Promise.withResolvers<boolean>()
      const settle = (isGranted: boolean): void => {
        clearTimeout(timer)
        resolve(isGranted)
      }
      const cancel = (): void => {
        queue.remove(source, settle)
        settle(false)
      }
      const timer = setTimeout(cancel, waitMs)
      if (!queue.push(source, settle)) settle(false)
      return { granted, cancel }
    },
    /** The slot goes to who waits, before anybody else can take it. */
    release: (source: string): void => {
      quota.release(source)
      grant()
    },
  }
}
