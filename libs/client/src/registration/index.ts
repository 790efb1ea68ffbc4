// The entry `@gatehouse/client/registration`: only the page needs it.
import { countCodePoints, isLocalUsername, limits, normalizeUsername } from '@gatehouse/contracts/constants'
import type { Api } from '../api/api.ts'
import { isAborted } from '../api/errors.ts'
import { systemClock } from '../platform.ts'
import { createStore } from '../store.ts'

export { createRegistrationWatch, type RegistrationState, type RegistrationWatch } from './registration-watch.ts'

export type RegistrationEntry = { username: string; password: string; confirmation: string }
export type RegistrationProblems = Partial<Record<keyof RegistrationEntry, string>>

/** As specified for the page. The server's minimum is 8. */
const passwordMin = 6

/**
 * Returns a text to show, or null. Capitals and outer spaces are allowed.
 * Spec: Client session behaviour, registration page.
 */
export function findUsernameProblem(typed: string): string | null {
  const username = normalizeUsername(typed)
  if (username.length < limits.localUsernameMin || username.length > limits.localUsernameMax) {
    return `Use ${limits.localUsernameMin} to ${limits.localUsernameMax} characters.`
  }
  return isLocalUsername(username) ? null : 'Use only letters, numbers and underscores.'
}

/**
 * Returns a text for each invalid field. Whether the name is free is not checked here.
 * Spec: Client session behaviour, registration page.
 */
export function findRegistrationProblems(entry: RegistrationEntry): RegistrationProblems {
  const problems: RegistrationProblems = {}
  const username = findUsernameProblem(entry.username)
  if (username) problems.username = username
  if (countCodePoints(entry.password) < passwordMin) problems.password = `Use at least ${passwordMin} characters.`
  if (entry.password !== entry.confirmation) problems.confirmation = 'The passwords don’t match.'
  return problems
}

/** A malformed username stays `idle`. `closed`: while the gate of the instance is, it says of no name whether it is free. */
export type AvailabilityState =
  | { status: 'idle' }
  | { status: 'checking'; username: string }
  | { status: 'available'; username: string }
  | { status: 'unavailable'; username: string; reason: string }
  | { status: 'closed'; username: string }
  | { status: 'failed'; username: string; error: Error }

export type AvailabilityCheck = ReturnType<typeof createAvailabilityCheck>

const debounceMs = 500

/** One for each form. Waits 500 ms after the last input. Spec: Client session behaviour, registration page. */
export function createAvailabilityCheck(api: Pick<Api, 'checkUsername'>, clock = systemClock) {
  const { set, ...state } = createStore<AvailabilityState>({ status: 'idle' })
  let timer: unknown
  let aborting = new AbortController()

  const cancel = (): void => {
    clock.clearTimeout(timer)
    aborting.abort()
    set({ status: 'idle' })
  }
  const request = async (username: string, signal: AbortSignal) => {
    try {
      const { available, reason, code } = await api.checkUsername(username, { signal })
      if (signal.aborted) return
      if (available) set({ status: 'available', username })
      else if (code === 'registration_closed') set({ status: 'closed', username })
      else set({ status: 'unavailable', username, reason: reason ?? 'That username isn’t available.' })
    } catch (error) {
      if (signal.aborted || isAborted(error)) return
      set({ status: 'failed', username, error: error as Error })
    }
  }
  const check = (typed: string): void => {
    cancel()
    if (findUsernameProblem(typed)) return
    const username = normalizeUsername(typed)
    aborting = new AbortController()
    const { signal } = aborting
    set({ status: 'checking', username })
    timer = clock.setTimeout(() => void request(username, signal), debounceMs)
  }
  return { ...state, check, cancel }
}
