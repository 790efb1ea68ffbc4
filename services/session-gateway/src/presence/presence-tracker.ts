import type { OperationContext } from '../deps.ts'
import type { LocalUser } from '../sessions/session-registry.ts'
import { TimeoutSet } from '../timeout-set.ts'
import { nextPresence, type PresenceEvent } from './presence-state.ts'

export class PresenceTracker {
  readonly #deps: Pick<OperationContext, 'timer' | 'timings'>
  readonly #grace: TimeoutSet<LocalUser>

  constructor(deps: Pick<OperationContext, 'timer' | 'timings'>, onGraceEnded: (user: LocalUser) => void) {
    this.#deps = deps
    this.#grace = new TimeoutSet(deps.timings.graceMs, deps.timer)
    this.#grace.onTimeout((user) => {
      this.apply(user, 'graceEnded')
      onGraceEnded(user)
    })
  }

  apply(user: LocalUser, event: PresenceEvent): void {
    const { timer, timings } = this.#deps
    const { offlineAfter: before } = user.presence
    user.presence = nextPresence(user.presence, event, { now: timer.now(), graceMs: timings.graceMs })
    const { offlineAfter: after } = user.presence
    if (after === undefined) this.#grace.delete(user)
    else if (after !== before) this.#grace.add(user)
  }

  stop(): void {
    this.#grace.stop()
  }
}
