import { maxBearerTokenLength } from '@gatehouse/auth'
import { type TokenStatus, judgeToken } from '@gatehouse/authority'
import { authMessage, emptyReadyParts, limits, maxTokensPerCall, readTokenClaims } from '@gatehouse/contracts'
import type { ReadyMessage } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { sanitizeUser } from '@gatehouse/domain'
import { entryLimit, type Quota, coalesce } from '@gatehouse/runtime'
import { version } from '@gatehouse/service-kit'
import { LRUCache } from 'lru-cache'
import { refuseHandshake, releaseQuota, type HandshakeRefusal } from '../connection/close-sockets.ts'
import { releaseBacklog, sendReady } from '../connection/send-text.ts'
import { parseFrame, type SessionSocket } from '../connection/session-socket.ts'
import type { SocketTimeouts } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { encodePresences } from '../presence/audience.ts'
import type { PresenceReconciler, ConnectedUser } from '../presence/presence-reconciler.ts'
import type { UpstreamPresences } from '../presence/upstream-audience.ts'
import { closeOldestSockets, endSessions, type EndingDeps } from '../sessions/end-sessions.ts'
import { findCurrentCaller } from '../sessions/session-registry.ts'
import type { AuthenticatedSocket, CallerDeps, Claims, SessionRegistry } from '../sessions/session-registry.ts'
import type { CollectedParts, ReadyParts } from '../upstreams/ready-parts.ts'
import type { UpstreamSet } from '../upstreams/upstream-set.ts'

/**
 * Takes a socket from its first message to `ready`. accept-sockets.ts calls `authenticate`, once for each socket.
 *
 * 1. Read the token's claims. Identity verifies the token, and `createTokenReader` remembers them.
 * 2. Register the socket under its user. From here on, the event of a change finds it.
 * 3. Read the account under a lock, and record the user as online (presence-reconciler.ts).
 * 4. Apply the token rule, then what an event has said meanwhile (`user.ending`).
 * 5. Ask the upstreams for their parts of `ready`, if there are any. That takes time, so the account is read again.
 * 6. Send `ready`, then what was kept for the socket, then read from the socket again.
 *
 * After each wait the socket may be closed: only `isAuthenticating` lets the handshake go on.
 *
 * What must never happen:
 * - The account is read before the socket is registered: a change between the two would be missed.
 * - `ready` overtakes a revocation. Between the last judgement and `ready`, nothing waits for another process.
 * - Each of many handshakes asks identity and PostgreSQL by itself. They share calls, batches and reads.
 * - A failed handshake is silent. The client gets an error and a close code.
 *
 * docs/decisions/sockets.md, docs/decisions/caller-identity.md.
 */

export type HandshakeDeps = EndingDeps &
  CallerDeps &
  Pick<OperationContext, 'log'> & {
    tokens: ReturnType<typeof createTokenReader>
    timeouts: SocketTimeouts
    sessions: SessionRegistry
    presence: PresenceReconciler
    peering: ReturnType<typeof createPeeringReader>
    /** The unauthenticated sockets of each client network. Contract: 6, before authentication. */
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

/** From the registered socket to `ready`. Spec: WebSocket handshake 4. */
async function admit(deps: HandshakeDeps, socket: AuthenticatedSocket): Promise<void> {
  const { session } = socket
  const { user } = session
  const [connected, peering] = await Promise.all([deps.presence.userConnected(user), deps.peering.read()])
  // The socket may have closed meanwhile.
  if (!isAuthenticating(socket)) return
  if (!connected) return refuseHandshake(deps, socket, 'invalidToken')
  const { state } = connected.snapshot
  const status = judgeToken(session, state)
  if (status !== 'live') return refuseHandshake(deps, socket, refusals[status])
  // The event may have come after the account was read.
  if (user.ending) endSessions(deps, user, user.ending)
  if (!isAuthenticating(socket)) return
  releaseQuota(deps, socket)
  deps.sessions.nameSession(socket, deps.random.uuid())
  // Messages of upstreams are kept until after `ready`.
  const { withReadyParts, withAudience } = deps.upstreams
  const [parts, seenThroughUpstreams] = await Promise.all([
    withReadyParts.length > 0 ? deps.readyParts.collect(socket) : undefined,
    withAudience.length > 0 && !socket.watched ? deps.upstreamPresences.visibleTo(user.id) : undefined,
  ])
  // Also where nothing was asked: an ending that came in the same turn closed the socket.
  if (!isAuthenticating(socket)) return
  if (parts || seenThroughUpstreams) {
    const caller = await findCurrentCaller(deps, socket)
    if (!isAuthenticating(socket)) return
    if (!caller) return refuseHandshake(deps, socket, 'tokenRevoked')
  }
  deps.timeouts.handshakes.delete(socket)
  socket.phase = 'ready'
  socket.frames = 0
  deps.presence.markOnline(user)
  sendReady(
    socket,
    readyMessage(connected, peering, { sessionId: session.id, now: deps.clock.now(), parts, seenThroughUpstreams }),
  )
  releaseBacklog(deps, socket)
  if (parts) deps.readyParts.sendLate(socket, parts)
  socket.resume()
  deps.timeouts.pings.add(socket)
  closeOldestSockets(deps, user)
  deps.sessionMetrics.handshakes.inc({ outcome: 'ready' })
}

/** Why an account takes no such token. */
export const refusals: Record<Exclude<TokenStatus, 'live'>, HandshakeRefusal> = {
  missing: 'invalidToken',
  deleted: 'accountDeletedAtHandshake',
  revoked: 'tokenRevoked',
}

const isAuthenticating = (socket: SessionSocket) =>
  socket.phase === 'authenticating' && socket.readyState === socket.OPEN

/** `seenThroughUpstreams`: online users whom only an upstream shows to this one. */
type ReadyContext = {
  sessionId: string
  now: number
  parts: CollectedParts | undefined
  seenThroughUpstreams: ReadonlySet<string> | undefined
}

/** `presences` is shared and never copied: it is most of a large message. Contract: 6, ready. */
function readyMessage(
  { snapshot, visible }: ConnectedUser,
  { pendingApprovalCount, ...peerOrigins }: PeeringSummary,
  { sessionId, now, parts, seenThroughUpstreams }: ReadyContext,
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
  const more = encodePresences([...(seenThroughUpstreams ?? [])].filter((id) => !visible.has(id)))
  const rest = [others, more].filter(({ length }) => length > 0).join(',')
  const separator = shared.length > 0 && rest.length > 0 ? ',' : ''
  const head = Buffer.from(`${JSON.stringify(message).slice(0, -1)},"presences":{`)
  return [head, shared, Buffer.from(`${separator}${rest}}}`)]
}

type TokenClaims = Claims & { readonly userId: string }

/** Identity verifies a token once. What it refused is not remembered. docs/decisions/caller-identity.md. */
export function createTokenReader(
  { bus, clock, timings }: Pick<OperationContext, 'bus' | 'clock' | 'timings'>,
  capacity: number = policy.rememberedTokens,
) {
  const remembered = new LRUCache<string, TokenClaims>(entryLimit(capacity))
  const size = { most: maxTokensPerCall }
  const ask = coalesce(async (tokens) => {
    const { claims } = await bus.request(readTokenClaims, { tokens: [...tokens] }, { timeoutMs: timings.tokenReadMs })
    return tokens.map((token, index) => [token, claims[index]] as const)
  }, size)
  return {
    /** Undefined: invalid or expired. Rejects with `BusUnavailable` where identity does not answer. */
    async read(token: string): Promise<TokenClaims | undefined> {
      if (token.length > maxBearerTokenLength) return undefined
      const cached = remembered.get(token)
      if (cached) return cached.exp > Math.floor(clock.now() / 1000) ? cached : undefined
      const claims = await ask(token)
      if (claims) remembered.set(token, claims)
      return claims ?? undefined
    },
  }
}

/** Handshakes of a short time share one read. */
export function createPeeringReader({ orm, timer, timings }: Pick<OperationContext, 'orm' | 'timer' | 'timings'>) {
  let latest: { summary: Promise<PeeringSummary>; readAt: number } | undefined
  return {
    async read(): Promise<PeeringSummary> {
      const now = timer.now()
      if (!latest || now - latest.readAt >= timings.peeringSummaryMs) {
        const reading = { summary: readPeeringSummary({ orm }), readAt: now }
        latest = reading
        reading.summary.catch(() => {
          if (latest === reading) latest = undefined
        })
      }
      return await latest.summary
    },
  }
}

/** The lists of peers in `ready`. Contract: 6, ready. */
type PeeringSummary = Awaited<ReturnType<typeof readPeeringSummary>>

type Row = { origin: string | null; status: 'active' | 'rejected' | 'awaiting_approval'; pending: number }

async function readPeeringSummary({ orm }: Pick<OperationContext, 'orm'>) {
  const rows = await read<Row>(
    orm.em.fork(),
    `select origin, status, pending
     from (select count(*)::int as pending from approval_requests where status = 'pending') as requests
     left join peers on status in ('active', 'rejected', 'awaiting_approval') order by peers.id`,
  )
  const originsOf = (status: Row['status']) => rows.flatMap((row) => (row.status === status ? (row.origin ?? []) : []))
  return {
    activePeerOrigins: originsOf('active'),
    rejectedPeerOrigins: originsOf('rejected'),
    awaitingApprovalPeerOrigins: originsOf('awaiting_approval'),
    pendingApprovalCount: rows[0]?.pending ?? 0,
  }
}
