import type { OperationContext } from '../context.ts'
import type { LocalUser } from '../sessions/session-registry.ts'
import { TimeoutSet } from '../timeout-set.ts'
import { initialPresence, isIdle, nextPresence, type PresenceEvent, type PresenceState } from './presence-state.ts'

/** Holds the states of the users who are not idle. */
export class PresenceTracker {
  readonly #deps: Pick<OperationContext, 'timer' | 'timings'>
  readonly #states = new Map<LocalUser, PresenceState>()
  readonly #grace: TimeoutSet<LocalUser>

  constructor(deps: Pick<OperationContext, 'timer' | 'timings'>, onGraceEnded: (user: LocalUser) => void) {
    this.#deps = deps
    this.#grace = new TimeoutSet(deps.timings.graceMs, deps.timer, (user) => {
      this.apply(user, 'graceEnded')
      onGraceEnded(user)
    })
  }

  stateOf(user: LocalUser): PresenceState {
    return this.#states.get(user) ?? initialPresence
  }

  apply(user: LocalUser, event: PresenceEvent): void {
    const { timer, timings } = this.#deps
    const before = this.stateOf(user)
    const after = nextPresence(before, event, { now: timer.now(), graceMs: timings.graceMs })
    if (isIdle(after)) this.#states.delete(user)
    else this.#states.set(user, after)
    if (after.offlineAfter === undefined) this.#grace.delete(user)
    else if (after.offlineAfter !== before.offlineAfter) this.#grace.add(user)
  }

  stop(): void {
    this.#grace.stop()
  }
}
