import { closeCodes } from '@gatehouse/contracts/constants'
import type { ClientClock, Jitter, OpenSocket, Socket } from '../platform.ts'
import type { SessionEnd } from '../session/session.ts'
import { createStore } from '../store.ts'
import type { Store } from '../store.ts'
import { isPresenceUpdate, isReady, readFrame } from './frames.ts'
import type { AdminChange, OtherEvent, ReadyEvent, ServerEvent } from './frames.ts'
import { findSessionEnd } from './session-end.ts'

export type LiveState = {
  /**
   * off: no session; connecting: until `ready`; ready; waiting: disconnected, reconnects at `retryAt` (clock ms), or,
   * where that is null, on `retryNow` only: the account has too many connections. Contract: 6.
   */
  phase: 'off' | 'connecting' | 'ready' | 'waiting'
  retryAt: number | null
  sessionId: string | null
  instance: ReadyEvent['instance'] | null
  /** By user id; a user without an entry is offline. */
  presences: Readonly<ReadyEvent['presences']>
}

/** The WebSocket to one instance. Spec: WebSocket handshake. Contract: 6. */
export type LiveConnection = Store<LiveState> & {
  /** Connects and stays connected; does nothing while open. */
  open(): void
  /** Closes and stays closed until the next open(). */
  close(): void
  /** Reconnects at once instead of waiting, for example when the browser is online again. */
  retryNow(): void
  /** Calls `listener` with every event after authentication; returns a function that unsubscribes it. */
  onEvent(listener: (event: ServerEvent) => void): () => void
  /**
   * Calls `listener` with each change that admins see, as long as the user is an admin; with null after a reconnect, when
   * changes may have been missed. Returns a function that ends it. Contract: 6, watch.
   */
  watchAdmin(listener: (change: AdminChange | null) => void): () => void
}

export type LiveDeps = {
  origin: string
  openSocket: OpenSocket
  clock: ClientClock
  jitter: Jitter
  /** The current token: a reconnect uses the newest. */
  token: () => string | null
  /** Called when the instance ended the session of `token`; returns false when a newer token is to be tried. */
  onRefused: (token: string, end: SessionEnd) => boolean
}

const readyTimeoutMs = 15_000
const pingIntervalMs = 25_000
const pongTimeoutMs = 10_000
const abnormalClosure = 1006
const off: LiveState = { phase: 'off', retryAt: null, sessionId: null, instance: null, presences: {} }

/** Makes a connection that authenticates with its first message and reconnects with backoff. */
export function createLiveConnection(deps: LiveDeps): LiveConnection {
  const { clock } = deps
  const state = createStore<LiveState>(off)
  const listeners = new Set<(event: ServerEvent) => void>()
  const watchers = new Set<Parameters<LiveConnection['watchAdmin']>[0]>()
  let isOpen = false
  let socket: Socket | null = null
  let attempt = 0
  let hasBeenReady = false
  /** The timer of the current phase: handshake, ping, pong or reconnect. */
  let timer: unknown

  const change = (part: Partial<LiveState>) => state.set({ ...state.getSnapshot(), ...part })
  const after = (ms: number, run: () => void) => {
    clock.clearTimeout(timer)
    timer = clock.setTimeout(run, ms)
  }
  const sendWhenReady = (type: 'watch' | 'unwatch') => {
    if (state.getSnapshot().phase === 'ready') socket?.send(JSON.stringify({ type, topic: 'admin' }))
  }
  const tellWatchers = (change: AdminChange | null) => {
    for (const watcher of [...watchers]) watcher(change)
  }
  const disconnect = () => {
    const closing = socket
    socket = null
    clock.clearTimeout(timer)
    closing?.close()
  }
  const onDisconnected = (token: string, code: number) => {
    disconnect()
    const end = findSessionEnd(code)
    if (end && deps.onRefused(token, end)) {
      close()
      return
    }
    if (!isOpen) return
    if (code === closeCodes.tooManyConnections) return change({ phase: 'waiting', retryAt: null, sessionId: null })
    const delay = reconnectDelayMs(attempt, deps.jitter())
    attempt += 1
    change({ phase: 'waiting', retryAt: clock.now() + delay, sessionId: null })
    after(delay, connect)
  }
  const connect = () => {
    const token = deps.token()
    if (!token) {
      close()
      return
    }
    change({ phase: 'connecting', retryAt: null })
    let opened: Socket
    try {
      opened = deps.openSocket(`${deps.origin.replace(/^http/, 'ws')}/ws`)
    } catch {
      onDisconnected(token, abnormalClosure)
      return
    }
    socket = opened
    opened.onopen = () => opened.send(JSON.stringify({ type: 'auth', token }))
    opened.onclose = ({ code }) => {
      if (socket === opened) onDisconnected(token, code)
    }
    opened.onmessage = ({ data }) => {
      const event = socket === opened ? readFrame(data) : null
      if (event) onEvent(event, opened, token)
    }
    after(readyTimeoutMs, () => onDisconnected(token, abnormalClosure))
  }
  /** Pings of its own: scripts in a browser do not see the server's protocol pings, and so not their absence. */
  const schedulePing = (opened: Socket, token: string) => {
    after(pingIntervalMs, () => {
      opened.send(JSON.stringify({ type: 'ping' }))
      after(pongTimeoutMs, () => onDisconnected(token, abnormalClosure))
    })
  }
  const onEvent = (event: OtherEvent, opened: Socket, token: string) => {
    if (isReady(event)) {
      const { sessionId, instance, presences } = event
      change({ phase: 'ready', retryAt: null, sessionId, instance, presences })
      schedulePing(opened, token)
      if (watchers.size) sendWhenReady('watch')
      if (hasBeenReady) tellWatchers(null)
      hasBeenReady = true
    }
    if (event.type === 'admin_changed') tellWatchers(event as AdminChange)
    if (isPresenceUpdate(event)) {
      change({ presences: { ...state.getSnapshot().presences, [event.userId]: event.status } })
    }
    if (event.type === 'pong') {
      attempt = 0 // not at `ready`: the backoff must still grow for a server that fails right after each handshake
      schedulePing(opened, token)
    }
    for (const listener of [...listeners]) listener(event)
  }
  const close = () => {
    isOpen = hasBeenReady = false
    attempt = 0
    disconnect()
    state.set(off)
  }

  return {
    subscribe: state.subscribe,
    getSnapshot: state.getSnapshot,
    open: () => {
      if (isOpen) return
      isOpen = true
      connect()
    },
    close,
    retryNow: () => {
      if (state.getSnapshot().phase === 'waiting') connect()
    },
    onEvent: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    watchAdmin: (listener) => {
      watchers.add(listener)
      if (watchers.size === 1) sendWhenReady('watch')
      return () => {
        if (watchers.delete(listener) && !watchers.size) sendWhenReady('unwatch')
      }
    },
  }
}

const firstDelayMs = 1_000
const maxDelayMs = 30_000

/**
 * How long to wait before reconnecting, in ms: exponential from 1 s to 30 s, the upper half of each delay spread by
 * `jitter` (0 to 1), so that the clients of a restarted server do not reconnect all at once. `attempt` counts from 0.
 */
export function reconnectDelayMs(attempt: number, jitter: number): number {
  const full = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt, 16))
  return Math.round(full / 2 + (full / 2) * jitter)
}
