import type { Status } from '../api/records.ts'
import type { ClientClock, Jitter, OpenSocket, Socket } from '../ports.ts'
import type { SessionEnd } from '../session/session.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import { reconnectDelayMs } from './backoff.ts'
import { findSessionEnd } from './close-codes.ts'
import { isPresenceUpdate, isReady, parseFrame } from './frames.ts'
import type { OtherEvent, ServerEvent } from './frames.ts'

export type LiveState = {
  /** off: no session; connecting: until `ready`; ready; waiting: lost, the next try comes at `retryAt` (clock ms). */
  phase: 'off' | 'connecting' | 'ready' | 'waiting'
  retryAt: number | null
  sessionId: string | null
  instance: { name: string; instanceId: string; version: string } | null
  /** By user id; who is missing is offline. */
  presences: Readonly<Record<string, Status>>
}

/** The WebSocket of one instance. Spec: WebSocket handshake. Contract: 6. */
export type LiveConnection = Store<LiveState> & {
  /** Connects and stays connected; nothing happens when it is open already. */
  open(): void
  /** Closes for good, until the next open(). */
  close(): void
  /** Tries at once instead of waiting, for example when the browser is online again. */
  retryNow(): void
  /** Hears every event after authentication; gives a function that stops it. */
  onEvent(listener: (event: ServerEvent) => void): () => void
}

export type LiveDeps = {
  origin: string
  openSocket: OpenSocket
  clock: ClientClock
  jitter: Jitter
  /** The token of the moment: a reconnect uses the newest. */
  token: () => string | null
  /** Hears that the instance ended the session of `token`; false when a newer token should be tried. */
  onRefused: (token: string, end: SessionEnd) => boolean
}

const readyDeadlineMs = 15_000
const pingEveryMs = 25_000
const pongDeadlineMs = 10_000
const abnormalClosure = 1006
const off: LiveState = { phase: 'off', retryAt: null, sessionId: null, instance: null, presences: {} }

/** Makes a connection that authenticates with its first message and comes back when it is lost. */
export function createLiveConnection(deps: LiveDeps): LiveConnection {
  const { clock } = deps
  const state = createStore<LiveState>(off)
  const listeners = new Set<(event: ServerEvent) => void>()
  let wanted = false
  let socket: Socket | null = null
  let attempt = 0
  /** The one timer that counts in the present phase. */
  let timer: unknown

  const change = (part: Partial<LiveState>) => state.set({ ...state.getSnapshot(), ...part })
  const after = (ms: number, run: () => void) => {
    clock.clearTimeout(timer)
    timer = clock.setTimeout(run, ms)
  }
  const drop = () => {
    const dropped = socket
    socket = null
    clock.clearTimeout(timer)
    dropped?.close()
  }
  const lose = (token: string, code: number) => {
    drop()
    const end = findSessionEnd(code)
    if (end && deps.onRefused(token, end)) return close()
    if (!wanted) return
    const delay = reconnectDelayMs(attempt, deps.jitter())
    attempt += 1
    change({ phase: 'waiting', retryAt: clock.now() + delay, sessionId: null })
    after(delay, dial)
  }
  const dial = () => {
    const token = deps.token()
    if (!token) return close()
    change({ phase: 'connecting', retryAt: null })
    let opened: Socket
    try {
      opened = deps.openSocket(`${deps.origin.replace(/^http/, 'ws')}/ws`)
    } catch {
      return lose(token, abnormalClosure)
    }
    socket = opened
    opened.onopen = () => opened.send(JSON.stringify({ type: 'auth', token }))
    opened.onclose = ({ code }) => void (socket === opened && lose(token, code))
    opened.onmessage = ({ data }) => {
      const event = socket === opened ? parseFrame(data) : null
      if (event) hear(event, opened, token)
    }
    after(readyDeadlineMs, () => lose(token, abnormalClosure))
  }
  /** A server that vanished without closing is found out by its silence: browsers do not show protocol pings. */
  const keepAlive = (opened: Socket, token: string) => {
    after(pingEveryMs, () => {
      opened.send(JSON.stringify({ type: 'ping' }))
      after(pongDeadlineMs, () => lose(token, abnormalClosure))
    })
  }
  const hear = (event: OtherEvent, opened: Socket, token: string) => {
    if (isReady(event)) {
      const { sessionId, instance, presences } = event
      change({ phase: 'ready', retryAt: null, sessionId, instance, presences })
      keepAlive(opened, token)
    }
    if (isPresenceUpdate(event)) {
      change({ presences: { ...state.getSnapshot().presences, [event.userId]: event.status } })
    }
    if (event.type === 'pong') {
      attempt = 0 // not at `ready`: a server that greets and falls over must not be stormed
      keepAlive(opened, token)
    }
    for (const listener of [...listeners]) listener(event)
  }
  const close = () => {
    wanted = false
    attempt = 0
    drop()
    state.set(off)
  }

  return {
    subscribe: state.subscribe,
    getSnapshot: state.getSnapshot,
    open: () => {
      if (wanted) return
      wanted = true
      dial()
    },
    close,
    retryNow: () => void (state.getSnapshot().phase === 'waiting' && dial()),
    onEvent: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
