export type PresenceState = {
  /** Stays `online` during the grace period. */
  readonly desired: 'online' | 'offline'
  /** The record is `unknown` after a commit that was not confirmed. */
  readonly recorded: 'online' | 'offline' | 'unknown'
  /** By the timer. Undefined outside a grace period. */
  readonly offlineAfter: number | undefined
}

type Transition = {
  /** The event has no effect in other states. */
  when?: { desired?: PresenceState['desired']; recorded?: PresenceState['recorded']; inGrace?: boolean }
  desired?: PresenceState['desired']
  recorded?: PresenceState['recorded']
  grace?: 'start' | 'end'
}

/** Spec: WebSocket handshake 4; Contract: 6, presence_update. */
export const presenceTransitions = {
  accepted: { desired: 'online', grace: 'end' },
  /** A running grace period goes on: the rejected sockets were never online. */
  rejected: { when: { inGrace: false }, desired: 'offline' },
  /** A running grace period is not prolonged. */
  lastSocketClosed: { when: { desired: 'online', inGrace: false }, grace: 'start' },
  /** A forced disconnect has no grace period. */
  forcedOut: { desired: 'offline', grace: 'end' },
  graceEnded: { desired: 'offline', grace: 'end' },
  onlineRecorded: { recorded: 'online' },
  offlineRecorded: { recorded: 'offline' },
  commitUnconfirmed: { recorded: 'unknown' },
  /** The database has no row. An unconfirmed change may still have to be announced. */
  nodeReRegistered: { when: { recorded: 'online' }, recorded: 'offline' },
} as const satisfies Record<string, Transition>

export type PresenceEvent = keyof typeof presenceTransitions

export const initialPresence: PresenceState = { desired: 'offline', recorded: 'offline', offlineAfter: undefined }

/** Gives the same object when the event has no effect. */
export function nextPresence(
  state: PresenceState,
  event: PresenceEvent,
  { now, graceMs }: { now: number; graceMs: number },
): PresenceState {
  const { when, desired, recorded, grace }: Transition = presenceTransitions[event]
  if (when?.desired !== undefined && when.desired !== state.desired) return state
  if (when?.recorded !== undefined && when.recorded !== state.recorded) return state
  if (when?.inGrace !== undefined && when.inGrace !== isInGrace(state)) return state
  const ends = { start: now + graceMs, end: undefined }
  return {
    desired: desired ?? state.desired,
    recorded: recorded ?? state.recorded,
    offlineAfter: grace ? ends[grace] : state.offlineAfter,
  }
}

/** Nothing is written during a grace period. */
export function needsWrite(state: PresenceState): boolean {
  return state.desired !== state.recorded && !isInGrace(state)
}

export function isIdle(state: PresenceState): boolean {
  return state.desired === 'offline' && state.recorded === 'offline'
}

function isInGrace(state: PresenceState): boolean {
  return state.offlineAfter !== undefined
}
