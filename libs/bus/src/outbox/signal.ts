/** What a loop waits on. A notification while it does not wait counts for its next wait. */
export type Signal = {
  isStopped(): boolean
  notify(): void
  /** Ends all waiting, now and later. */
  stop(): void
  /** Resolves at the next notification, at once when there was one since the last wait, or after `ms`. */
  waitFor(ms: number): Promise<void>
  /** Resolves after `ms` whatever notifications come, or when stopped. */
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
