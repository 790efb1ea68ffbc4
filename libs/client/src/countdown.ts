import type { ClientClock } from './platform.ts'
import { createStore, type Store } from './store.ts'

export type Countdown = Store<number> & {
  start(seconds: number): void
  stop(): void
}

/** By the clock: right after a tab was suspended. Spec: Errors, rate limits. */
export function createCountdown(clock: ClientClock): Countdown {
  const left = createStore(0)
  let timer: unknown
  const stop = () => {
    clock.clearTimeout(timer)
    left.set(0)
  }
  const start = (seconds: number) => {
    stop()
    const endsAt = clock.now() + seconds * 1000
    const tick = () => {
      const remaining = endsAt - clock.now()
      left.set(Math.max(0, Math.ceil(remaining / 1000)))
      if (remaining > 0) timer = clock.setTimeout(tick, remaining % 1000 || 1000)
    }
    tick()
  }
  return { subscribe: left.subscribe, getSnapshot: left.getSnapshot, start, stop }
}
