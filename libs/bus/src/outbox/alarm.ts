/** What a loop waits on: a bell that may also have rung before. */
export type Alarm = {
  ring(): void
  /** Ends all waiting, now and later. */
  stop(): void
  /** Resolves at the next ring, at once when it has rung since the last wait, or after `ms`. */
  ringsWithin(ms: number): Promise<void>
  /** Resolves after `ms` whatever rings, or when stopped; a ring meanwhile counts for the next wait. */
  quietFor(ms: number): Promise<void>
}

export function createAlarm(): Alarm {
  let rung = false
  let stopped = false
  let wake: ((byRing: boolean) => void) | undefined

  function wait(ms: number, heedsRing: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        wake = undefined
        resolve()
      }
      const timer = setTimeout(end, ms)
      wake = (byRing) => {
        if (byRing && !heedsRing) return
        rung = false
        end()
      }
    })
  }

  return {
    ring() {
      rung = true
      wake?.(true)
    },
    stop() {
      stopped = true
      wake?.(false)
    },
    async ringsWithin(ms) {
      const already = rung || stopped
      rung = false
      if (!already) await wait(ms, true)
    },
    async quietFor(ms) {
      if (!stopped) await wait(ms, false)
    },
  }
}
