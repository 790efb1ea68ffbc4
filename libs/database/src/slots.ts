import { DatabaseUnavailable } from './driver.ts'

export type Slots = {
  /** Gives what returns the slot. Throws DatabaseUnavailable after `waitMs`. */
  take(): Promise<() => void>
  idle(): boolean
}

/** At most `max` at once; others wait in order. */
export function createSlots({ max, waitMs }: { max: number; waitMs: number }): Slots {
  const waiting = new Set<() => void>()
  let taken = 0

  function giveBack(): () => void {
    let returned = false
    return () => {
      if (returned) return
      returned = true
      const [next] = waiting
      if (next) next()
      else taken -= 1
    }
  }

  return {
    take: async () => {
      if (taken >= max) await turn(waiting, waitMs)
      else taken += 1
      return giveBack()
    },
    idle: () => taken === 0,
  }
}

/** The slot stays taken until the handover. */
async function turn(waiting: Set<() => void>, waitMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const handOver = () => {
      clearTimeout(timeout)
      waiting.delete(handOver)
      resolve()
    }
    const timeout = setTimeout(() => {
      waiting.delete(handOver)
      reject(new DatabaseUnavailable('too many transactions of this process wait for locks'))
    }, waitMs)
    waiting.add(handOver)
  })
}
