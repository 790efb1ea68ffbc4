import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import { systemClock } from '../platform.ts'
import { createStore } from '../store.ts'

/** `ended`: denied, expired or unknown. `username`: known with the first answer, of one that has not ended. */
export type RegistrationState = {
  status: 'pending' | 'approved' | 'ended'
  username: string | null
  error: Error | null
}

export type RegistrationWatch = ReturnType<typeof createRegistrationWatch>

const firstDelayMs = 5_000
const longestDelayMs = 60_000
const growth = 1.5

/**
 * Asks what became of a registration, by its receipt: at each `start`, then ever less often, until it is decided or `stop`.
 * Start it whenever the page is visible again. Contract: 3, Approval.
 */
export function createRegistrationWatch(api: Pick<Api, 'call'>, receipt: string, clock = systemClock) {
  const { set, ...state } = createStore<RegistrationState>({ status: 'pending', username: null, error: null })
  let timer: unknown
  let aborting = new AbortController()

  const ask = async (signal: AbortSignal, delayMs: number): Promise<void> => {
    let waitMs = delayMs
    try {
      const { state: status, username } = await api.call('readRegistration', { body: { receipt }, signal })
      if (signal.aborted) return
      set({ status, username, error: null })
      if (status !== 'pending') return
    } catch (error) {
      if (signal.aborted || isAborted(error)) return
      set({ ...state.getSnapshot(), error: error as Error })
      const { retryAfter = 0 } = error as { retryAfter?: number }
      waitMs = Math.max(waitMs, retryAfter * 1_000)
    }
    const next = Math.min(delayMs * growth, longestDelayMs)
    timer = clock.setTimeout(() => void ask(signal, next), waitMs)
  }
  const stop = (): void => {
    clock.clearTimeout(timer)
    aborting.abort()
  }
  const start = (): void => {
    stop()
    if (state.getSnapshot().status !== 'pending') return
    aborting = new AbortController()
    void ask(aborting.signal, firstDelayMs)
  }
  return { ...state, start, stop }
}
