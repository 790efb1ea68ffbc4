import { normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { ClientClock } from '../platform.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import { findUsernameProblem } from './registration-checks.ts'

/** `checking` begins with the input; `idle` while the username is malformed, which needs no request. */
export type AvailabilityState =
  | { status: 'idle' }
  | { status: 'checking'; username: string }
  | { status: 'available'; username: string }
  | { status: 'unavailable'; username: string; reason: string }
  | { status: 'failed'; username: string; error: Error }

export type AvailabilityCheck = Store<AvailabilityState> & {
  /** Call with each new input. */
  check(typed: string): void
  /** Aborts the request and clears the result. */
  cancel(): void
}

const debounceMs = 500

/**
 * Requests whether a username is free 500 ms after the last input; new input aborts the request before it.
 * Spec: Client session behaviour, registration page.
 */
export function createAvailabilityCheck(deps: { api: Pick<Api, 'auth'>; clock: ClientClock }): AvailabilityCheck {
  const state = createStore<AvailabilityState>({ status: 'idle' })
  let timer: unknown
  let aborting = new AbortController()

  const cancel = () => {
    deps.clock.clearTimeout(timer)
    aborting.abort()
    state.set({ status: 'idle' })
  }
  const request = async (username: string, signal: AbortSignal) => {
    try {
      const { available, reason } = await deps.api.auth.checkUsername(username, { signal })
      if (signal.aborted) return
      if (available) state.set({ status: 'available', username })
      else state.set({ status: 'unavailable', username, reason: reason ?? 'This username is not available' })
    } catch (error) {
      if (signal.aborted || isAborted(error)) return
      state.set({ status: 'failed', username, error: error as Error })
    }
  }
  const check = (typed: string) => {
    cancel()
    if (findUsernameProblem(typed)) return
    const username = normalizeUsername(typed)
    aborting = new AbortController()
    const { signal } = aborting
    state.set({ status: 'checking', username })
    timer = deps.clock.setTimeout(() => void request(username, signal), debounceMs)
  }
  return { subscribe: state.subscribe, getSnapshot: state.getSnapshot, check, cancel }
}
