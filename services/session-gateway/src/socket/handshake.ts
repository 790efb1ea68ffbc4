import { authMessage, closures, limits, type Closure } from '@gatehouse/contracts'
import { accountStateOf } from '@gatehouse/domain'
import { judgeToken, verifyToken, type Judgement } from '@gatehouse/auth'
import type { Deps } from '../deps.ts'
import { readyReply } from '../replies/ready-reply.ts'
import { releaseQuota, turnAway } from './end-socket.ts'
import { parseFrame } from './hear-message.ts'
import { encodeMessage, sendText } from './send-text.ts'
import type { SessionSocket } from './session-socket.ts'

/**
 * The first message has to prove who is there. The socket is registered before the truth is read, so that a reset or a
 * deletion either shows in what is read or finds the socket. Spec: WebSocket handshake 2, 3; Design: invariant 9.
 */
export async function shakeHands(deps: Deps, socket: SessionSocket, data: Buffer, isBinary: boolean): Promise<void> {
  if (data.length > limits.socketFirstMessageBytes) return refuse(deps, socket, 'messageTooBig')
  const first = authMessage.safeParse(parseFrame(data, isBinary))
  if (!first.success) return refuse(deps, socket, 'firstMessageNotAuth')
  const claims = verifyToken(deps.tokenKey, first.data.token, deps.clock.now())
  if (!claims) return refuse(deps, socket, 'invalidToken')
  socket.phase = 'admitting'
  socket.iat = claims.iat
  deps.connections.join(claims.userId, socket)
  try {
    await admit(deps, socket)
  } catch (error) {
    deps.log.warn({ error }, 'a handshake failed')
    if (isAdmitting(socket)) refuse(deps, socket, 'unavailable')
  }
}

/** Says `ready` to whom the truth still knows by this token. Spec: WebSocket handshake 4. */
async function admit(deps: Deps, socket: SessionSocket): Promise<void> {
  const arrival = await deps.presence.arrive(socket)
  // It may have left, or been thrown out, meanwhile.
  if (!isAdmitting(socket)) return
  if (!arrival) return refuse(deps, socket, 'invalidToken')
  const judgement = judgeToken(socket, accountStateOf(arrival.person.user))
  if (judgement !== 'live') return refuse(deps, socket, refusals[judgement])
  const reply = readyReply({ ...arrival, sessionId: deps.random.uuid(), now: deps.clock.now() })
  deps.unproven.delete(socket)
  releaseQuota(deps, socket)
  socket.phase = 'ready'
  sendText(deps, socket, encodeMessage(reply))
  for (const message of socket.backlog ?? []) sendText(deps, socket, message)
  socket.backlog = undefined
  deps.pings.add(socket)
  deps.meters.handshakes.inc({ outcome: 'ready' })
}

type Refusal = Exclude<keyof typeof closures, 'passwordReset' | 'accountDeleted' | 'goingAway'>

const refusals: Record<Exclude<Judgement, 'live'>, Refusal> = {
  missing: 'invalidToken',
  deleted: 'accountDeletedAtHandshake',
  revoked: 'tokenRevoked',
}

/** Ends a handshake that did not succeed: an error message, then the close. Spec: WebSocket handshake 5. */
export function refuse(deps: Deps, socket: SessionSocket, refusal: Refusal): void {
  const closure: Closure = closures[refusal]
  deps.meters.handshakes.inc({ outcome: refusal })
  turnAway(deps, socket, closure)
}

/** Spec: WebSocket handshake 1. A token that could not be judged in time is no fault of the client. */
export function refuseLate(deps: Deps, socket: SessionSocket): void {
  refuse(deps, socket, isAdmitting(socket) ? 'unavailable' : 'authenticationTimeout')
}

function isAdmitting(socket: SessionSocket): boolean {
  return socket.phase === 'admitting' && socket.readyState === socket.OPEN
}
