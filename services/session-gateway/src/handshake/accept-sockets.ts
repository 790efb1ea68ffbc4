import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { callerHeader, type CallerVerifier } from '@gatehouse/auth'
import { closures, limits, unwatchMessage, watchMessage } from '@gatehouse/contracts'
import { refuse, type Refusal } from '@gatehouse/runtime'
import { clientNetwork, describeClient, requestIdHeader } from '@gatehouse/service-kit'
import { WebSocketServer, type ServerOptions } from 'ws'
import type { AdminWatch } from '../admin-watch/admin-watch.ts'
import { drainSockets, refuseHandshake, releaseQuota, releaseSocket } from '../connection/close-sockets.ts'
import type { OpenSockets } from '../connection/close-sockets.ts'
import { sendText } from '../connection/send-text.ts'
import { cutText, encodeError, encodeMessage, malformed, parseFrame, refOf } from '../connection/session-socket.ts'
import { SessionSocket, type SocketEvents } from '../connection/session-socket.ts'
import { countFrame } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import type { PresenceWatch } from '../presence/presence-watch.ts'
import {
  type AuthenticatedSocket,
  createTokenBucket,
  isAuthenticated,
  takeToken,
} from '../sessions/session-registry.ts'
import type { MessageForwarder } from '../upstreams/message-forwarder.ts'
import type { UpstreamSet } from '../upstreams/upstream-set.ts'
import { authenticate, type HandshakeDeps } from './handshake.ts'
import { reauthenticate, type ReauthenticationDeps } from './reauthenticate.ts'

type MessageDeps = ReauthenticationDeps & {
  adminWatch: AdminWatch
  presenceWatch: PresenceWatch
  upstreams: Pick<UpstreamSet, 'ownerOf'>
  forwarder: MessageForwarder
}

type AcceptDeps = HandshakeDeps &
  MessageDeps &
  Pick<OperationContext, 'timer' | 'timings'> & { verifyCaller: CallerVerifier; openSockets: OpenSockets }

/** Disposed, it drains the open sockets. */
export function acceptSockets(deps: AcceptDeps, server: Server): AsyncDisposable {
  const { openSockets } = deps
  // Two are missing in the types.
  const options: ServerOptions<typeof SessionSocket> & { closeTimeout: number; maxFragments: number } = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: limits.socketMessageBytes,
    // A message counts as one frame.
    maxFragments: 16,
    closeTimeout: deps.timings.closeMs,
    WebSocket: SessionSocket,
  }
  const upgrader = new WebSocketServer(options)
  upgrader.on('headers', answerRequestId)
  const events = createEvents(deps)
  server.on('upgrade', (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', destroyBroken)
    const caller = deps.verifyCaller(String(request.headers[callerHeader] ?? ''), deps.clock.now())
    if (!caller || caller.upstream) return refuseUpgrade(connection, refuse.forbidden())
    if (request.url?.split('?', 1)[0] !== '/ws') return refuseUpgrade(connection, refuse.not_found())
    if (!openSockets.accepting) return refuseUpgrade(connection, refuse.restarting())
    const key = clientNetwork(caller.address)
    if (!deps.quota.take(key)) return refuseUpgrade(connection, refuse.rate_limited(tooManySockets))
    const release = () => deps.quota.release(key)
    connection.once('close', release)
    upgrader.handleUpgrade(request, connection, head, (socket) => {
      connection.removeListener('close', release)
      connection.removeListener('error', destroyBroken)
      socket.quotaKey = key
      socket.connection = connection
      // Before ws, which would end the connection without a close frame.
      Object.assign(connection, { [socketOf]: socket }).prependListener('end', closeRestarting)
      socket.connectedAt = deps.clock.now()
      socket.client = describeClient(request, caller.address)
      socket.events = events
      openSockets.add(socket)
      deps.timeouts.unauthenticated.add(socket)
    })
  })
  openSockets.accepting = true
  return {
    async [Symbol.asyncDispose]() {
      openSockets.accepting = false
      await drainSockets(deps)
    },
  }
}

const createEvents = (deps: AcceptDeps): SocketEvents => ({
  message(socket, data, isBinary) {
    socket.awaitsPong = false
    try {
      // A message that was read is handled, even above the limit.
      countFrame(deps, socket, data.length)
      if (socket.phase === 'unauthenticated') void authenticate(deps, socket, data, isBinary)
      else if (socket.phase === 'authenticating') refuseHandshake(deps, socket, 'firstMessageNotAuth')
      else if (isAuthenticated(socket)) handleMessage(deps, socket, data, isBinary)
    } catch (err) {
      // A fault ends its own socket instead of the process.
      deps.log.error({ err, sessionId: isAuthenticated(socket) ? socket.session.id : '' }, 'socket message failed')
      terminate(deps, socket)
    }
  },
  /** Pings above the limit get no answer. */
  ping(socket, data) {
    socket.awaitsPong = false
    if (countFrame(deps, socket, data.length) && socket.readyState === socket.OPEN) socket.pong(data)
  },
  /** Unrequested pongs are allowed within the limit. Contract: 6, heartbeat. */
  pong(socket, data) {
    const isAnswer = socket.awaitsPong
    socket.awaitsPong = false
    if (countFrame(deps, socket, data.length) || isAnswer || socket.phase !== 'ready') return
    deps.sessionMetrics.floodingSockets.inc()
    terminate(deps, socket)
  },
  close(socket) {
    deps.openSockets.delete(socket)
    releaseQuota(deps, socket)
    if (socket.phase === 'closing') return
    if (socket.phase !== 'ready') deps.sessionMetrics.handshakes.inc({ outcome: 'left' })
    releaseSocket(deps, socket)
  },
})

const pong = encodeMessage({ type: 'pong' })
const invalidJson = encodeError('invalid_json')

/** `ping` costs no token of the user, unknown types do. Contract: 6, messages. */
function handleMessage(deps: MessageDeps, socket: AuthenticatedSocket, data: Buffer, isBinary: boolean): void {
  const message = parseFrame(data, isBinary)
  const type = typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined
  if (type === 'ping') return sendText(deps, socket, pong)
  const { user } = socket.session
  const now = deps.clock.now()
  user.bucket ??= createTokenBucket(now)
  if (!takeToken(user.bucket, now)) return sendText(deps, socket, encodeError('rate_limited', refOf(message)))
  if (message === malformed) return sendText(deps, socket, invalidJson)
  if (type === 'auth') return void reauthenticate(deps, socket, message)
  if (type === 'watch' || type === 'unwatch') return watch(deps, socket, message)
  const upstream = deps.upstreams.ownerOf(type)
  if (upstream) return deps.forwarder.forward(socket, upstream, message as { type: string }, data)
  const about = typeof type === 'string' ? { about: cutText(type) } : {}
  sendText(deps, socket, encodeError('unknown_message_type', { ...about, ...refOf(message) }))
}

function watch({ adminWatch, presenceWatch, ...deps }: MessageDeps, socket: AuthenticatedSocket, message: unknown) {
  if (unwatchMessage.safeParse(message).success) return void adminWatch.drop(socket)
  const { data } = watchMessage.safeParse(message)
  if (!data) return sendText(deps, socket, encodeError('unknown_topic'))
  if (data.users) presenceWatch.replace(socket, data.users)
  else adminWatch.add(socket)
}

function terminate(deps: AcceptDeps, socket: SessionSocket): void {
  releaseSocket(deps, socket)
  socket.terminate()
}

/** The gateway has given the request its id. Contract: 1, request ids. */
function answerRequestId(headers: string[], request: IncomingMessage): void {
  const id = request.headers[requestIdHeader]
  if (typeof id === 'string') headers.push(`X-Request-Id: ${id}`)
}

/** Of a connection. A closure in its place would keep the request of the upgrade for as long as the socket is open. */
const socketOf = Symbol('socketOf')

/** Only a gateway that stops ends its side without a close frame and reads on. A frame that it has cut is not read. Contract: 6, server going away. */
function closeRestarting(this: Duplex & { [socketOf]?: SessionSocket }): void {
  this[socketOf]?.close(closures.goingAway.code, closures.goingAway.message)
}

function destroyBroken(this: Duplex): void {
  this.destroy()
}

const tooManySockets = { fields: { message: 'Rate limit exceeded', retryAfter: 1 } } as const

function refuseUpgrade(connection: Duplex, { status, body }: Refusal): void {
  const text = JSON.stringify(body)
  const retry = status === 429 || status === 503 ? 'Retry-After: 1\r\n' : ''
  connection.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json\r\n${retry}` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  )
}
