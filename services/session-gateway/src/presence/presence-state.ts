import type { OperationContext } from '../context.ts'
import type { LocalUser } from '../sessions/session-registry.ts'
import { TimeoutSet } from '../timeout-set.ts'

export type PresenceState = {
  /** Stays `online` during the grace period. */
  readonly desired: 'online' | 'offline'
  /** `unknown` after an unconfirmed commit. */
  readonly recorded: 'online' | 'offline' | 'unknown'
  /** By the timer. Undefined outside a grace period. */
  readonly offlineAfter: number | undefined
}

type Transition = {
  /** The event has no effect in other states. */
  when?: { desired?: PresenceState['desired']; inGrace?: boolean }
  desired?: PresenceState['desired']
  recorded?: PresenceState['recorded']
  grace?: 'start' | 'end'
}

/** Spec: WebSocket handshake 4; Contract: 6, presence_update. */
export const presenceTransitions = {
  accepted: { desired: 'online', grace: 'end' },
  /** Rejected sockets were never online. */
  rejected: { when: { inGrace: false }, desired: 'offline' },
  lastSocketClosed: { when: { desired: 'online', inGrace: false }, grace: 'start' },
  forcedOut: { desired: 'offline', grace: 'end' },
  graceEnded: { desired: 'offline', grace: 'end' },
  onlineRecorded: { recorded: 'online' },
  offlineRecorded: { recorded: 'offline' },
  commitUnconfirmed: { recorded: 'unknown' },
  /** The new node has no rows. */
  nodeReRegistered: { recorded: 'offline' },
} as const satisfies Record<string, Transition>

export type PresenceEvent = keyof typeof presenceTransitions

export const initialPresence: PresenceState = { desired: 'offline', recorded: 'offline', offlineAfter: undefined }

export function nextPresence(
  state: PresenceState,
  event: PresenceEvent,
  { now, graceMs }: { now: number; graceMs: number },
): PresenceState {
  const { when, desired, recorded, grace }: Transition = presenceTransitions[event]
  if (when?.desired !== undefined && when.desired !== state.desired) return state
  if (when?.inGrace !== undefined && when.inGrace !== isInGrace(state)) return state
  const ends = { start: now + graceMs, end: undefined }
  return {
    desired: desired ?? state.desired,
    recorded: recorded ?? state.recorded,
    offlineAfter: grace ? ends[grace] : state.offlineAfter,
  }
}

export function needsWrite(state: PresenceState): boolean {
  return state.desired !== state.recorded && !isInGrace(state)
}

export function isIdle(state: PresenceState): boolean {
  return state.desired === 'offline' && state.recorded === 'offline'
}

function isInGrace(state: PresenceState): boolean {
  return state.offlineAfter !== undefined
}

/** Idle users take no memory. */
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
