import { closeCodes } from '@gatehouse/contracts/constants'
import { LiveError } from '../api/errors.ts'
import type { ClientClock, Jitter, OpenSocket, Socket } from '../platform.ts'
import type { SessionEnd } from '../session/session.ts'
import { reconnectDelayMs } from '../wait.ts'
import { addTo, createStore, type Store } from '../store.ts'
import { findSessionEnd, isPresenceUpdate, isReady, readFrame } from './frames.ts'
import type { AdminChange, AnyLive, LiveTypes, OtherEvent, OwnEvents, ReadyEvent, ServerEvent } from './frames.ts'

export type LiveState = {
  /** `retryAt` in clock ms. Null: on `retryNow` only, there are too many connections. Contract: 6, sockets of an account. */
  phase: 'off' | 'connecting' | 'ready' | 'waiting'
  retryAt: number | null
  sessionId: string | null
  instance: ReadyEvent['instance'] | null
  /** By user id. A missing user is offline. */
  presences: Readonly<ReadyEvent['presences']>
}

/**
 * It reconnects by itself, except after a rejected token or too many connections.
 * Spec: WebSocket handshake. Contract: 6, ready.
 */
export type LiveConnection<App extends LiveTypes = AnyLive> = Store<LiveState> & {
  open(): void
  close(): void
  retryNow(): void
  /** Gives the open socket the newest token, where it has an earlier one. Contract: 6, auth once more. */
  authenticate(): void
  /**
   * To the upstream of this type. Gives its reply, or throws LiveError with a code, after 10 s `no_answer`. It is sent once:
   * repeat what may be repeated.
   */
  send<T extends keyof App['requests'] & string>(
    type: T,
    body: App['requests'][T]['body'],
  ): Promise<App['requests'][T]['reply']>
  /** Events of one type, as they come. Returns the unsubscribe function. */
  on<T extends (keyof OwnEvents | keyof App['events']) & string>(
    type: T,
    listener: (event: T extends keyof OwnEvents ? OwnEvents[T] : App['events'][T] & { type: T }) => void,
  ): () => void
  /** All events. Returns the unsubscribe function. */
  onEvent(listener: (event: ServerEvent) => void): () => void
  /** Null after a reconnect: changes may have been missed. Contract: 6, watch. */
  watchAdmin(listener: (change: AdminChange | null) => void): () => void
}

export type LiveDeps = {
  origin: string
  openSocket: OpenSocket
  clock: ClientClock
  jitter: Jitter
  /** A reconnect uses the newest. */
  token: () => string | null
  /** False: a newer token is to be tried. */
  onRefused: (token: string, end: SessionEnd) => boolean
}

const readyTimeoutMs = 15_000
const pingIntervalMs = 25_000
const pongTimeoutMs = 10_000
const watchRetryMs = 5_000
/** Twice what the server waits for an upstream. */
const replyTimeoutMs = 10_000
const abnormalClosure = 1006
export const noConnection: LiveState = { phase: 'off', retryAt: null, sessionId: null, instance: null, presences: {} }

// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createLiveConnection(deps: LiveDeps): LiveConnection {
  const { clock } = deps
  const { set, ...state } = createStore<LiveState>(noConnection)
  const listeners = new Set<(event: ServerEvent) => void>()
  const watchers = new Set<Parameters<LiveConnection['watchAdmin']>[0]>()
  const waiting = new Map<string, (reply: object | LiveError) => void>()
  let refs = 0
  let isOpen = false
  let socket: Socket | null = null
  /** The newest token that the socket was given. */
  let presented = ''
  /** The answer to a later `auth` is missing. */
  let isRenewing = false
  let attempt = 0
  let hasBeenReady = false
  let timer: unknown

  const change = (part: Partial<LiveState>) => set({ ...state.getSnapshot(), ...part })
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
    isRenewing = false
    clock.clearTimeout(timer)
    closing?.close()
    for (const settle of [...waiting.values()]) settle(new LiveError('disconnected'))
  }
  const onDisconnected = (code: number) => {
    // Which of two tokens a close refuses, the next handshake tells.
    const end = isRenewing ? null : findSessionEnd(code)
    disconnect()
    if (end && deps.onRefused(presented, end)) return close()
    if (!isOpen) return
    if (code === closeCodes.tooManyConnections) return change({ phase: 'waiting', retryAt: null, sessionId: null })
    const delay = reconnectDelayMs(attempt, deps.jitter())
    attempt += 1
    change({ phase: 'waiting', retryAt: clock.now() + delay, sessionId: null })
    after(delay, connect)
  }
  const connect = () => {
    const token = deps.token()
    if (!token) return close()
    presented = token
    change({ phase: 'connecting', retryAt: null })
    let opened: Socket
    try {
      opened = deps.openSocket(`${deps.origin.replace(/^http/, 'ws')}/ws`)
    } catch {
      return onDisconnected(abnormalClosure)
    }
    socket = opened
    // The code of a failed upgrade, or of a server that is none of ours, says nothing of the session.
    let isOwn = false
    opened.onopen = () => opened.send(JSON.stringify({ type: 'auth', token }))
    opened.onclose = ({ code }) => {
      if (socket === opened) onDisconnected(isOwn ? code : abnormalClosure)
    }
    opened.onmessage = ({ data }) => {
      const event = socket === opened ? readFrame(data) : null
      if (!event) return
      isOwn = true
      receive(event, opened)
    }
    after(readyTimeoutMs, () => onDisconnected(abnormalClosure))
  }
  /** Scripts in a browser do not see protocol pings, so it sends its own. */
  const schedulePing = (opened: Socket) => {
    after(pingIntervalMs, () => {
      opened.send(JSON.stringify({ type: 'ping' }))
      after(pongTimeoutMs, () => onDisconnected(abnormalClosure))
    })
  }
  const receive = (event: OtherEvent, opened: Socket) => {
    if (isReady(event)) {
      const { sessionId, instance, presences } = event
      change({ phase: 'ready', retryAt: null, sessionId, instance, presences })
      schedulePing(opened)
      if (watchers.size) sendWhenReady('watch')
      if (hasBeenReady) tellWatchers(null)
      hasBeenReady = true
      // The token may have changed during the handshake.
      authenticate()
    }
    if (event.type === 'authenticated') onAuthenticated()
    if (event.type === 'admin_changed') tellWatchers(event as AdminChange)
    if (isPresenceUpdate(event))
      change({ presences: { ...state.getSnapshot().presences, [event.userId]: event.status } })
    if (event.type === 'pong') {
      attempt = 0 // not at `ready`: the backoff must still grow for a server that fails right after each handshake
      schedulePing(opened)
    }
    const { type, ref, reply, code, message } = event
    const settle = waiting.get(ref as string)
    if (type === 'reply') settle?.(reply as object)
    if (type === 'error') settle?.(new LiveError(code as string, message as string))
    for (const listener of [...listeners]) listener(event)
    if (event.type === 'error' && socket === opened) onError(event)
  }
  const authenticate = (): boolean => {
    const token = deps.token()
    if (!token || token === presented || state.getSnapshot().phase !== 'ready') return false
    presented = token
    isRenewing = true
    socket?.send(JSON.stringify({ type: 'auth', token }))
    return true
  }
  /** A revoked token ends a watch. */
  const onAuthenticated = () => {
    isRenewing = false
    if (!watchers.size) return
    sendWhenReady('watch')
    tellWatchers(null)
  }
  const onError = ({ code, requestType, about }: OtherEvent) => {
    if (code === 'token_revoked' && !isRenewing && !authenticate()) onDisconnected(closeCodes.tokenRevoked)
    // Servers before 0.4.0 take a token in the handshake only.
    const isUntaken = code === 'unknown_message_type' && about === 'auth'
    if (isUntaken || (code === 'service_unavailable' && requestType === 'auth')) onDisconnected(abnormalClosure)
    if (code !== 'service_unavailable' || requestType !== 'watch') return
    clock.setTimeout(() => (watchers.size ? sendWhenReady('watch') : undefined), watchRetryMs)
  }
  const close = (): void => {
    isOpen = hasBeenReady = false
    attempt = 0
    disconnect()
    set(noConnection)
  }

  const send = (type: string, body: object) =>
    new Promise<object>((resolve, reject) => {
      if (!socket || state.getSnapshot().phase !== 'ready') return reject(new LiveError('not_connected'))
      const ref = String(++refs)
      const settle = (result: object | LiveError) => {
        waiting.delete(ref)
        clock.clearTimeout(timeout)
        if (result instanceof LiveError) reject(result)
        else resolve(result)
      }
      const timeout = clock.setTimeout(() => settle(new LiveError('no_answer')), replyTimeoutMs)
      waiting.set(ref, settle)
      socket.send(JSON.stringify({ ...body, type, ref }))
    })
  const onEvent = (listener: (event: ServerEvent) => void) => addTo(listeners, listener)

  return {
    send: send as LiveConnection['send'],
    on: (type, listener) => onEvent((event) => void (event.type === type && listener(event as never))),
    onEvent,
    ...state,
    open: () => {
      if (isOpen) return
      isOpen = true
      connect()
    },
    close,
    authenticate: () => void authenticate(),
    retryNow: () => {
      if (state.getSnapshot().phase === 'waiting') connect()
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
