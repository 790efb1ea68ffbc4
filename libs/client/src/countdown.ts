import type { ClientClock } from './platform.ts'
import { createStore } from './store.ts'

export type Countdown = ReturnType<typeof createCountdown>

/** By the clock: right after a tab was suspended. Spec: Errors, rate limits. */
export function createCountdown(clock: ClientClock) {
  const { set, ...store } = createStore(0)
  let timer: unknown
  const stop = (): void => {
    clock.clearTimeout(timer)
    set(0)
  }
  const start = (seconds: number): void => {
    stop()
    const endsAt = clock.now() + seconds * 1000
    const tick = () => {
      const remaining = endsAt - clock.now()
      set(Math.max(0, Math.ceil(remaining / 1000)))
      if (remaining > 0) timer = clock.setTimeout(tick, remaining % 1000 || 1000)
    }
    tick()
  }
  return { ...store, start, stop }
}
