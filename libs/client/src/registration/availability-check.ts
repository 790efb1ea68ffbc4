import { normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import type { ClientClock } from '../platform.ts'
import { createStore, type Store } from '../store.ts'
import { findUsernameProblem } from './registration-checks.ts'

/** A malformed username stays `idle`. */
export type AvailabilityState =
  | { status: 'idle' }
  | { status: 'checking'; username: string }
  | { status: 'available'; username: string }
  | { status: 'unavailable'; username: string; reason: string }
  | { status: 'failed'; username: string; error: Error }

export type AvailabilityCheck = Store<AvailabilityState> & {
  check(typed: string): void
  cancel(): void
}

const debounceMs = 500

/** Waits 500 ms after the last input. Spec: Client session behaviour, registration page. */
export function createAvailabilityCheck(deps: {
  api: Pick<Api, 'checkUsername'>
  clock: ClientClock
}): AvailabilityCheck {
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
      const { available, reason } = await deps.api.checkUsername(username, { signal })
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
