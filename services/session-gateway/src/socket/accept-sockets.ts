import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { limits } from '@gatehouse/contracts'
import { callerHeader, verifyCaller } from '@gatehouse/auth'
import { WebSocketServer, type RawData, type ServerOptions, type WebSocket } from 'ws'
import type { Deps } from '../deps.ts'
import { quotaKey } from './address-quota.ts'
import { drainSockets } from './drain-sockets.ts'
import { releaseQuota, releaseSocket } from './end-socket.ts'
import { brakeFlood } from './flood-brake.ts'
import { refuse, shakeHands } from './handshake.ts'
import { hearMessage, parseFrame } from './hear-message.ts'
import { SessionSocket } from './session-socket.ts'

export type Sockets = AsyncDisposable & { accepting(): boolean }

/** Takes the upgrades that come from the gateway. Closing it drains: nobody new, and those there leave one by one. */
export function acceptSockets(deps: Deps, server: Server): Sockets {
  const open = new Set<SessionSocket>()
  // `closeTimeout` is missing in the types.
  const options: ServerOptions<typeof SessionSocket> & { closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: limits.socketMessageBytes,
    closeTimeout: deps.timings.closeMs,
    WebSocket: SessionSocket,
  }
  const upgrader = new WebSocketServer(options)
  const attend = createListeners(deps, open)
  let accepting = true

  server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', destroyBroken)
    const caller = verifyCaller(deps.callerKey, String(request.headers[callerHeader] ?? ''), deps.clock.now())
    if (!caller) return refuseUpgrade(connection, '403 Forbidden', 'This service is reached through the gateway only')
    if (request.url?.split('?', 1)[0] !== '/ws') return refuseUpgrade(connection, '404 Not Found', 'Not found')
    if (!accepting) return refuseUpgrade(connection, '503 Service Unavailable', 'Server is restarting')
    const key = quotaKey(caller.address)
    if (!deps.quota.take(key)) return refuseUpgrade(connection, '429 Too Many Requests', 'Too many connections')
    const giveBack = () => deps.quota.release(key)
    connection.once('close', giveBack)
    upgrader.handleUpgrade(request, connection, head, (socket) => {
      connection.removeListener('close', giveBack)
      connection.removeListener('error', destroyBroken)
      socket.address = key
      attend(socket)
    })
  })
  return {
    accepting: () => accepting,
    [Symbol.asyncDispose]: async () => {
      accepting = false
      await drainSockets(deps, open)
    },
  }
}

/** One set of listeners for all sockets, which are `this` in them. */
function createListeners(deps: Deps, open: Set<SessionSocket>): (socket: SessionSocket) => void {
  function onMessage(socket: SessionSocket, data: Buffer, isBinary: boolean): void {
    socket.unanswered = false
    if (socket.phase === 'ready') {
      brakeFlood(deps, socket)
      hearMessage(deps, socket, parseFrame(data, isBinary))
    } else if (socket.phase === 'greeting') {
      void shakeHands(deps, socket, data, isBinary)
    } else if (socket.phase === 'admitting') {
      refuse(deps, socket, 'firstMessageNotAuth')
    }
  }
  function onClose(socket: SessionSocket): void {
    open.delete(socket)
    releaseQuota(deps, socket)
    if (socket.phase === 'ending') return
    if (socket.phase !== 'ready') deps.meters.handshakes.inc({ outcome: 'left' })
    socket.phase = 'ending'
    releaseSocket(deps, socket)
  }
  const listeners = {
    message(this: WebSocket, data: RawData, isBinary: boolean) {
      onMessage(this as SessionSocket, data as Buffer, isBinary)
    },
    ping(this: WebSocket) {
      ;(this as SessionSocket).unanswered = false
      brakeFlood(deps, this as SessionSocket)
    },
    pong(this: WebSocket) {
      ;(this as SessionSocket).unanswered = false
    },
    // A broken or oversized frame: ws has sent the close code itself.
    error() {},
    close(this: WebSocket) {
      onClose(this as SessionSocket)
    },
  }

  return (socket) => {
    open.add(socket)
    deps.unproven.add(socket)
    socket.on('message', listeners.message)
    socket.on('ping', listeners.ping)
    socket.on('pong', listeners.pong)
    socket.on('error', listeners.error)
    socket.on('close', listeners.close)
  }
}

function destroyBroken(this: Duplex): void {
  this.destroy()
}

function refuseUpgrade(connection: Duplex, status: string, error: string): void {
  const body = JSON.stringify({ error, statusCode: Number(status.slice(0, 3)) })
  const retry = /^(429|503)/.test(status) ? 'Retry-After: 1\r\n' : ''
  connection.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\n${retry}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
