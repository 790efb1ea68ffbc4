import { DatabaseUnavailable } from './driver.ts'

export type SlotLimits = { max: number; waitMs: number }

export type Slots = ReturnType<typeof createSlots>

/** At most `max` run at once. Others wait in order, and are refused with DatabaseUnavailable after `waitMs`. */
export function createSlots({ max, waitMs }: SlotLimits) {
  const waiting = new Set<() => void>()
  let taken = 0

  /** The slot stays taken until the handover. */
  async function waitForTurn(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const take = () => {
      clearTimeout(timeout)
      waiting.delete(take)
      resolve()
    }
    const timeout = setTimeout(() => {
      waiting.delete(take)
      reject(new DatabaseUnavailable('too many transactions of this process wait for locks'))
    }, waitMs)
    waiting.add(take)
    await promise
  }

  return {
    isIdle: () => taken === 0,
    run: async <T>(work: () => Promise<T>): Promise<T> => {
      if (taken < max) taken += 1
      else await waitForTurn()
      try {
        return await work()
      } finally {
        const [next] = waiting
        if (next) next()
        else taken -= 1
      }
    },
  }
}
