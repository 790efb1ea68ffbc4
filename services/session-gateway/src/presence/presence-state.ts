/** Presence of a user on this node: what its sockets ask for, and what the database has recorded. */
export type PresenceState = {
  /** `online` while a socket is accepted and during the grace period after the last one. */
  readonly desired: 'online' | 'offline'
  /** Whether the database has a row of the user on this node; `unknown` after a commit that was not confirmed. */
  readonly recorded: 'online' | 'offline' | 'unknown'
  /** End of the grace period, by the timer; undefined while none runs. */
  readonly offlineAfter: number | undefined
}

type Transition = {
  /** The states to which it applies; in others nothing changes. */
  when?: { desired?: PresenceState['desired']; recorded?: PresenceState['recorded']; inGrace?: boolean }
  desired?: PresenceState['desired']
  recorded?: PresenceState['recorded']
  grace?: 'start' | 'end'
}

/** What each event changes; what is not named stays. Spec: WebSocket handshake 4; Contract: 6, presence_update. */
export const presenceTransitions = {
  /** The account accepts the token of a socket. */
  accepted: { desired: 'online', grace: 'end' },
  /** The account accepts no socket of the user. A grace period goes on: these sockets were never online. */
  rejected: { when: { inGrace: false }, desired: 'offline' },
  /** The last accepted socket closed by itself. A grace period that runs is not prolonged. */
  lastSocketClosed: { when: { desired: 'online', inGrace: false }, grace: 'start' },
  /** A forced disconnect has no grace period. */
  forcedOut: { desired: 'offline', grace: 'end' },
  graceEnded: { desired: 'offline', grace: 'end' },
  onlineRecorded: { recorded: 'online' },
  offlineRecorded: { recorded: 'offline' },
  commitUnconfirmed: { recorded: 'unknown' },
  /**
   * The node was evicted and registered anew: the database has no row of its users. A change whose commit was not
   * confirmed may still have to be announced.
   */
  nodeReRegistered: { when: { recorded: 'online' }, recorded: 'offline' },
} as const satisfies Record<string, Transition>

export type PresenceEvent = keyof typeof presenceTransitions

export const initialPresence: PresenceState = { desired: 'offline', recorded: 'offline', offlineAfter: undefined }

/** The state after an event at `now`; the same object when the event does not apply. */
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

/** Whether the record differs from what is desired. During a grace period nothing is written. */
export function needsWrite(state: PresenceState): boolean {
  return state.desired !== state.recorded && !isInGrace(state)
}

/** Whether nothing is left to remember. */
export function isIdle(state: PresenceState): boolean {
  return state.desired === 'offline' && state.recorded === 'offline'
}

function isInGrace(state: PresenceState): boolean {
  return state.offlineAfter !== undefined
}
