import { checkRevocation, verifyToken, type TokenKey, type TokenStatus } from '@gatehouse/auth'
import { authMessage, limits } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import { refuseHandshake, releaseQuota, type HandshakeRefusal } from '../connection/close-socket.ts'
import { sendFrames, sendReady } from '../connection/send-text.ts'
import type { SessionSocket } from '../connection/session-socket.ts'
import type { SocketTimeouts } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import type { PresenceReconciler } from '../presence/presence-reconciler.ts'
import { closeOldestSockets, endSessions, type EndingDeps } from '../sessions/end-sessions.ts'
import type { AuthenticatedSocket, SessionRegistry } from '../sessions/session-registry.ts'
import type { ReadyParts } from '../upstreams/ready-parts.ts'
import type { UpstreamSet } from '../upstreams/upstream-set.ts'
import { parseFrame } from './handle-message.ts'
import type { PeeringReader } from './peering-summary.ts'
import { readyMessage } from './ready-message.ts'

export type HandshakeDeps = EndingDeps &
  Pick<OperationContext, 'clock' | 'timer' | 'random' | 'log'> & {
    keys: { token: TokenKey }
    timeouts: SocketTimeouts
    sessions: Pick<SessionRegistry, 'add' | 'nameSession' | 'updateAccountState'>
    presence: Pick<PresenceReconciler, 'userConnected' | 'markOnline'>
    peering: Pick<PeeringReader, 'read'>
    /** The unauthenticated sockets of each client network. Contract: 6. */
    quota: Quota
    upstreams: Pick<UpstreamSet, 'withReadyParts'>
    readyParts: Pick<ReadyParts, 'collect' | 'sendLate'>
  }

/** Registers before it reads, so no reset is missed. Spec: WebSocket handshake 2, 3; Design: invariant 9. */
export async function authenticate(
  deps: HandshakeDeps,
  socket: SessionSocket,
  data: Buffer,
  isBinary: boolean,
): Promise<void> {
  if (data.length > limits.socketFirstMessageBytes) return refuseHandshake(deps, socket, 'messageTooBig')
  const first = authMessage.safeParse(parseFrame(data, isBinary))
  if (!first.success) return refuseHandshake(deps, socket, 'firstMessageNotAuth')
  const claims = verifyToken(deps.keys.token, first.data.token, deps.clock.now())
  if (!claims) return refuseHandshake(deps, socket, 'invalidToken')
  socket.phase = 'authenticating'
  // The time limit of authentication ends here: a refused client would reconnect and cause the same work again.
  deps.timeouts.unauthenticated.delete(socket)
  deps.timeouts.handshakes.add(socket)
  // A client has nothing to say before `ready`.
  socket.pause()
  try {
    await admit(deps, deps.sessions.add(socket, claims.userId, claims))
  } catch (err) {
    deps.log.warn({ err }, 'handshake failed')
    if (isAuthenticating(socket)) refuseHandshake(deps, socket, 'unavailable')
  }
}

/** Spec: WebSocket handshake 4. */
async function admit(deps: HandshakeDeps, socket: AuthenticatedSocket): Promise<void> {
  const { session } = socket
  const { user } = session
  const [connected, peering] = await Promise.all([deps.presence.userConnected(user), deps.peering.read()])
  // The socket may have closed meanwhile.
  if (!isAuthenticating(socket)) return
  if (!connected) return refuseHandshake(deps, socket, 'invalidToken')
  const { state } = connected.snapshot
  const status = checkRevocation(session, state)
  if (status !== 'live') return refuseHandshake(deps, socket, refusals[status])
  session.stateVersion = state.version
  // The event may have come after the account was read.
  if (user.ending) endSessions(deps, user, user.ending)
  if (!isAuthenticating(socket)) return
  deps.sessions.updateAccountState(state)
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
  sendReady(socket, readyMessage(connected, peering, { sessionId: session.id, now: deps.clock.now(), parts }))
  for (const frames of socket.backlog ?? []) sendFrames(deps, socket, frames)
  socket.backlog = undefined
  if (parts) deps.readyParts.sendLate(socket, parts)
  socket.resume()
  deps.timeouts.pings.add(socket)
  closeOldestSockets(deps, user)
  deps.sessionMetrics.handshakes.inc({ outcome: 'ready' })
}

const refusals: Record<Exclude<TokenStatus, 'live'>, HandshakeRefusal> = {
  missing: 'invalidToken',
  deleted: 'accountDeletedAtHandshake',
  revoked: 'tokenRevoked',
}

function isAuthenticating(socket: SessionSocket): boolean {
  return socket.phase === 'authenticating' && socket.readyState === socket.OPEN
}
