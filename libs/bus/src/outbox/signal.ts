/** A notification outside a wait counts for the next wait. */
export type Signal = {
  isStopped(): boolean
  notify(): void
  stop(): void
  /** Resolves at the next notification or after `ms`. */
  waitFor(ms: number): Promise<void>
  /** Ignores notifications; `stop` ends it. */
  sleep(ms: number): Promise<void>
}

export function createSignal(): Signal {
  let notified = false
  let stopped = false
  let wake: ((byNotification: boolean) => void) | undefined

  function wait(ms: number, untilNotified: boolean): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        wake = undefined
        resolve()
      }
      const timer = setTimeout(end, ms)
      wake = (byNotification) => {
        if (byNotification && !untilNotified) return
        notified = false
        end()
      }
    })
  }

  return {
    isStopped: () => stopped,
    notify() {
      notified = true
      wake?.(true)
    },
    stop() {
      stopped = true
      wake?.(false)
    },
    async waitFor(ms) {
      const already = notified || stopped
      notified = false
      if (!already) await wait(ms, true)
    },
    async sleep(ms) {
      if (!stopped) await wait(ms, false)
    },
  }
}
