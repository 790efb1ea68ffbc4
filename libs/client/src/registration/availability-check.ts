import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { ClientClock } from '../ports.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import { findUsernameProblem, normalizeUsername } from './registration-checks.ts'

/** `checking` begins with the keystroke; `idle` while the name has a wrong form, which needs no question. */
export type AvailabilityState =
  | { status: 'idle' }
  | { status: 'checking'; username: string }
  | { status: 'available'; username: string }
  | { status: 'unavailable'; username: string; reason: string }
  | { status: 'failed'; username: string; error: Error }

export type AvailabilityCheck = Store<AvailabilityState> & {
  /** Call with each new input. */
  check(typed: string): void
  /** Ends what runs and forgets the answer. */
  cancel(): void
}

const debounceMs = 500

/** Asks whether a username is free 500 ms after the last input; new input aborts the question before. */
export function createAvailabilityCheck(deps: { api: Pick<Api, 'auth'>; clock: ClientClock }): AvailabilityCheck {
  const state = createStore<AvailabilityState>({ status: 'idle' })
  let timer: unknown
  let asking = new AbortController()

  const cancel = () => {
    deps.clock.clearTimeout(timer)
    asking.abort()
    state.set({ status: 'idle' })
  }
  const ask = async (username: string, signal: AbortSignal) => {
    try {
      const answer = await deps.api.auth.checkUsername(username, { signal })
      if (signal.aborted) return
      if (answer.available) state.set({ status: 'available', username })
      else state.set({ status: 'unavailable', username, reason: answer.reason ?? 'This username is not available' })
    } catch (error) {
      if (signal.aborted || isAborted(error)) return
      state.set({ status: 'failed', username, error: error as Error })
    }
  }
  const check = (typed: string) => {
    cancel()
    if (findUsernameProblem(typed)) return
    const username = normalizeUsername(typed)
    asking = new AbortController()
    const { signal } = asking
    state.set({ status: 'checking', username })
    timer = deps.clock.setTimeout(() => void ask(username, signal), debounceMs)
  }
  return { subscribe: state.subscribe, getSnapshot: state.getSnapshot, check, cancel }
}
