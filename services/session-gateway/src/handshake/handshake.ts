import { checkRevocation, type TokenStatus } from '@gatehouse/auth'
import { authMessage, emptyReadyParts, limits, type ReadyMessage } from '@gatehouse/contracts'
import { sanitizeUser } from '@gatehouse/domain'
import type { Quota } from '@gatehouse/runtime'
import { version } from '@gatehouse/service-kit'
import { refuseHandshake, releaseQuota, type HandshakeRefusal } from '../connection/close-sockets.ts'
import { releaseBacklog, sendReady } from '../connection/send-text.ts'
import { parseFrame, type SessionSocket } from '../connection/session-socket.ts'
import type { SocketTimeouts } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import { encodePresences } from '../presence/audience.ts'
import type { PresenceReconciler, ConnectedUser } from '../presence/presence-reconciler.ts'
import type { UpstreamPresences } from '../presence/upstream-audience.ts'
import { closeOldestSockets, endSessions, type EndingDeps } from '../sessions/end-sessions.ts'
import { findCurrentCaller } from '../sessions/session-registry.ts'
import type { AuthenticatedSocket, CallerDeps, SessionRegistry } from '../sessions/session-registry.ts'
import type { CollectedParts, ReadyParts } from '../upstreams/ready-parts.ts'
import type { UpstreamSet } from '../upstreams/upstream-set.ts'
import type { PeeringReader, PeeringSummary, TokenReader } from './handshake-reads.ts'

export type HandshakeDeps = EndingDeps &
  CallerDeps &
  Pick<OperationContext, 'log'> & {
    tokens: TokenReader
    timeouts: SocketTimeouts
    sessions: SessionRegistry
    presence: PresenceReconciler
    peering: PeeringReader
    /** The unauthenticated sockets of each client network. Contract: 6. */
    quota: Quota
    upstreams: UpstreamSet
    readyParts: ReadyParts
    upstreamPresences: UpstreamPresences
  }

/** Registers before it reads, so no reset is missed. Spec: WebSocket handshake 2, 3; Design: invariant 9. */
export async function authenticate(deps: HandshakeDeps, socket: SessionSocket, data: Buffer, isBinary: boolean) {
  if (data.length > limits.socketFirstMessageBytes) return refuseHandshake(deps, socket, 'messageTooBig')
  const first = authMessage.safeParse(parseFrame(data, isBinary))
  if (!first.success) return refuseHandshake(deps, socket, 'firstMessageNotAuth')
  const { client } = first.data
  if (client) socket.client = { ...socket.client, client }
  if (first.data.presences === 'watched') socket.watched = new Set()
  socket.phase = 'authenticating'
  // The time limit of authentication ends here: a refused client would reconnect and cause the same work again.
  deps.timeouts.unauthenticated.delete(socket)
  deps.timeouts.handshakes.add(socket)
  // A client has nothing to say before `ready`.
  socket.pause()
  try {
    const claims = await deps.tokens.read(first.data.token)
    if (!isAuthenticating(socket)) return
    if (!claims) return refuseHandshake(deps, socket, 'invalidToken')
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
  releaseQuota(deps, socket)
  deps.sessions.nameSession(socket, deps.random.uuid())
  // Messages of upstreams are kept until after `ready`.
  const { withReadyParts, withAudience } = deps.upstreams
  const [parts, seen] = await Promise.all([
    withReadyParts.length > 0 ? deps.readyParts.collect(socket) : undefined,
    withAudience.length > 0 && !socket.watched ? deps.upstreamPresences.visibleTo(user.id) : undefined,
  ])
  if (parts || seen) {
    if (!isAuthenticating(socket)) return
    const caller = await findCurrentCaller(deps, socket)
    if (!isAuthenticating(socket)) return
    if (!caller) return refuseHandshake(deps, socket, 'tokenRevoked')
  }
  deps.timeouts.handshakes.delete(socket)
  socket.phase = 'ready'
  socket.frames = 0
  deps.presence.markOnline(user)
  sendReady(socket, readyMessage(connected, peering, { sessionId: session.id, now: deps.clock.now(), parts, seen }))
  releaseBacklog(deps, socket)
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

const isAuthenticating = (socket: SessionSocket) =>
  socket.phase === 'authenticating' && socket.readyState === socket.OPEN

/** `seen`: through further services. */
type Told = { sessionId: string; now: number; parts: CollectedParts | undefined; seen: ReadonlySet<string> | undefined }

/** `presences` is shared and never copied: it is most of a large message. Contract: 6, `ready`. */
function readyMessage(
  { snapshot, visible }: ConnectedUser,
  { pendingApprovalCount, ...peerOrigins }: PeeringSummary,
  { sessionId, now, parts, seen }: Told,
): Buffer[] {
  const { user, instanceName, instanceId } = snapshot
  const message: Omit<ReadyMessage, 'presences'> = {
    type: 'ready',
    user: { ...sanitizeUser(user, true), status: 'online' },
    sessionId,
    serverTime: now,
    instance: { name: instanceName, instanceId, version },
    ...peerOrigins,
    ...(user.isAdmin && { pendingApprovalCount }),
    ...emptyReadyParts,
    ...parts?.fields,
    ...(parts && parts.incomplete.length > 0 && { incomplete: [...parts.incomplete] }),
  }
  const { shared, others } = visible
  const more = encodePresences([...(seen ?? [])].filter((id) => !visible.has(id)))
  const rest = [others, more].filter(({ length }) => length > 0).join(',')
  const separator = shared.length > 0 && rest.length > 0 ? ',' : ''
  const head = Buffer.from(`${JSON.stringify(message).slice(0, -1)},"presences":{`)
  return [head, shared, Buffer.from(`${separator}${rest}}}`)]
}
