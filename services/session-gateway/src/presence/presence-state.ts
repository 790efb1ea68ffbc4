import type { OperationContext } from '../context.ts'
import type { LocalUser } from '../sessions/session-registry.ts'
import { createTimeoutSet } from '../timeout-set.ts'

export type PresenceState = {
  /** Stays `online` during the grace period. */
  readonly desired: 'online' | 'offline'
  /** `unknown` after an unconfirmed commit. */
  readonly recorded: 'online' | 'offline' | 'unknown'
  /** By the timer. Undefined outside a grace period. */
  readonly offlineAfter: number | undefined
}

type Transition = Partial<Pick<PresenceState, 'desired' | 'recorded'>> & {
  /** The event has no effect in other states. */
  when?: { desired?: PresenceState['desired']; inGrace: boolean }
  grace?: 'start' | 'end'
}

/** What each event changes in what a user is meant to be, and in what is recorded. Spec: WebSocket handshake 4; Contract: 6, presence_update. */
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

export function nextPresence(state: PresenceState, event: PresenceEvent, graceEndsAt: number): PresenceState {
  const { when, desired, recorded, grace }: Transition = presenceTransitions[event]
  if (when && (when.inGrace !== isInGrace(state) || (when.desired ?? state.desired) !== state.desired)) return state
  const ends = { start: graceEndsAt, end: undefined }
  return {
    desired: desired ?? state.desired,
    recorded: recorded ?? state.recorded,
    offlineAfter: grace ? ends[grace] : state.offlineAfter,
  }
}

const isInGrace = ({ offlineAfter }: PresenceState) => offlineAfter !== undefined

export const needsWrite = (state: PresenceState) => state.desired !== state.recorded && !isInGrace(state)

export const isIdle = ({ desired, recorded }: PresenceState) => desired === 'offline' && recorded === 'offline'

/** Idle users take no memory. */
export function createPresenceTracker(
  { timer, timings }: Pick<OperationContext, 'timer' | 'timings'>,
  onGraceEnded: (user: LocalUser) => void,
) {
  const { graceMs } = timings
  const states = new Map<LocalUser, PresenceState>()
  const grace = createTimeoutSet<LocalUser>(graceMs, timer, (user) => {
    apply(user, 'graceEnded')
    onGraceEnded(user)
  })

  const stateOf = (user: LocalUser) => states.get(user) ?? initialPresence

  function apply(user: LocalUser, event: PresenceEvent): void {
    const before = stateOf(user)
    const after = nextPresence(before, event, timer.now() + graceMs)
    if (isIdle(after)) states.delete(user)
    else states.set(user, after)
    if (after.offlineAfter === undefined) grace.delete(user)
    else if (after.offlineAfter !== before.offlineAfter) grace.add(user)
  }

  return { stateOf, apply, stop: grace.stop }
}
