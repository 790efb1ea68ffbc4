import { checkRevocation, verifyToken, type TokenStatus } from '@gatehouse/auth'
import { authMessage, closures, limits } from '@gatehouse/contracts'
import { updateAccountState } from '../admin-watch/admin-watch.ts'
import type { Deps } from '../deps.ts'
import { endSessions } from '../sessions/end-sessions.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { closeOldestSockets } from '../sessions/limit-sessions.ts'
import { closeWithError, releaseQuota } from './close-socket.ts'
import { parseFrame } from './handle-message.ts'
import { readyMessage } from './ready-message.ts'
import { sendFrames, sendReady } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'

/** Registers before it reads, so no reset is missed. Spec: WebSocket handshake 2, 3; Design: invariant 9. */
export async function authenticate(deps: Deps, socket: SessionSocket, data: Buffer, isBinary: boolean): Promise<void> {
  if (data.length > limits.socketFirstMessageBytes) return refuseHandshake(deps, socket, 'messageTooBig')
  const first = authMessage.safeParse(parseFrame(data, isBinary))
  if (!first.success) return refuseHandshake(deps, socket, 'firstMessageNotAuth')
  const claims = verifyToken(deps.keys.token, first.data.token, deps.clock.now())
  if (!claims) return refuseHandshake(deps, socket, 'invalidToken')
  socket.phase = 'authenticating'
  // A refused client would come back with the same work.
  deps.timeouts.unauthenticated.delete(socket)
  deps.timeouts.handshakes.add(socket)
  socket.iat = claims.iat
  socket.exp = claims.exp
  // A client has nothing to say before `ready`.
  socket.pause()
  try {
    await admit(deps, deps.sessions.add(socket, claims.userId))
  } catch (err) {
    deps.log.warn({ err }, 'handshake failed')
    if (isAuthenticating(socket)) refuseHandshake(deps, socket, 'unavailable')
  }
}

/** Spec: WebSocket handshake 4. */
async function admit(deps: Deps, socket: AuthenticatedSocket): Promise<void> {
  const { user } = socket
  const [connected, peering] = await Promise.all([deps.presence.userConnected(user), deps.peering.read()])
  // The socket may have closed meanwhile.
  if (!isAuthenticating(socket)) return
  if (!connected) return refuseHandshake(deps, socket, 'invalidToken')
  const { state } = connected.snapshot
  const status = checkRevocation(socket, state)
  if (status !== 'live') return refuseHandshake(deps, socket, refusals[status])
  socket.stateVersion = state.version
  // The event may have come after the account was read.
  if (user.ending) endSessions(deps, user, user.ending)
  if (!isAuthenticating(socket)) return
  updateAccountState(deps, state)
  releaseQuota(deps, socket)
  deps.sessions.nameSession(socket, deps.random.uuid())
  // Messages of upstreams are kept until after `ready`.
  const parts = deps.upstreams.withReadyParts.length > 0 ? await deps.readyParts.collect(socket) : undefined
  if (parts && !isAuthenticating(socket)) return
  deps.timeouts.handshakes.delete(socket)
  socket.phase = 'ready'
  socket.readyAt = deps.timer.now()
  socket.frames = 0
  deps.presence.markOnline(user)
  const { sessionId } = socket
  sendReady(socket, readyMessage(connected, peering, { sessionId, now: deps.clock.now(), parts }))
  for (const frames of socket.backlog ?? []) sendFrames(deps, socket, frames)
  socket.backlog = undefined
  if (parts) deps.readyParts.sendLate(socket, parts)
  socket.resume()
  deps.timeouts.pings.add(socket)
  closeOldestSockets(deps, user)
  deps.sessionMetrics.handshakes.inc({ outcome: 'ready' })
}

type HandshakeRefusal = Exclude<
  keyof typeof closures,
  'passwordReset' | 'accountDeleted' | 'goingAway' | 'tooManyConnections'
>

const refusals: Record<Exclude<TokenStatus, 'live'>, HandshakeRefusal> = {
  missing: 'invalidToken',
  deleted: 'accountDeletedAtHandshake',
  revoked: 'tokenRevoked',
}

/** Spec: WebSocket handshake 5. */
export function refuseHandshake(
  deps: Pick<Deps, 'sessions' | 'presence' | 'timeouts' | 'sessionMetrics'>,
  socket: SessionSocket,
  refusal: HandshakeRefusal,
): void {
  deps.sessionMetrics.handshakes.inc({ outcome: refusal })
  closeWithError(deps, socket, closures[refusal])
}

function isAuthenticating(socket: SessionSocket): boolean {
  return socket.phase === 'authenticating' && socket.readyState === socket.OPEN
}
