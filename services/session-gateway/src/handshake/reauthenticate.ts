import { isEndedBy, judgeToken } from '@gatehouse/authority'
import { authMessage, closures } from '@gatehouse/contracts'
import { closeSocket, type HandshakeRefusal, type RefusalDeps } from '../connection/close-sockets.ts'
import { sendText } from '../connection/send-text.ts'
import { encodeError, encodeMessage } from '../connection/session-socket.ts'
import type { SocketTimeouts } from '../connection/socket-timeouts.ts'
import type { OperationContext } from '../context.ts'
import { type AuthenticatedSocket, type Claims, type LocalUser } from '../sessions/session-registry.ts'
import { refusals, type createTokenReader } from './handshake.ts'

export type ReauthenticationDeps = Omit<RefusalDeps, 'timeouts'> &
  Pick<OperationContext, 'accountStates' | 'clock' | 'log'> & {
    tokens: Pick<ReturnType<typeof createTokenReader>, 'read'>
    timeouts: SocketTimeouts
  }

const authenticated = encodeMessage({ type: 'authenticated' })
const unavailable = encodeError('service_unavailable', { requestType: 'auth' })

/** A ready socket takes a newer token of its account; a refused one closes it as the first does. Contract: 6, auth once more. */
export async function reauthenticate(deps: ReauthenticationDeps, socket: AuthenticatedSocket, message: unknown) {
  const { user } = socket.session
  try {
    const { data } = authMessage.safeParse(message)
    const claims = data && (await deps.tokens.read(data.token))
    const result = claims?.userId === user.id ? await judge(deps, user, claims) : 'invalidToken'
    // The socket may have closed meanwhile.
    if (socket.phase !== 'ready') return
    if (typeof result === 'string') return refuse(deps, socket, result)
    take(deps, socket, result)
    sendText(deps, socket, authenticated)
  } catch (err) {
    deps.log.warn({ err }, 'a socket could not authenticate once more')
    if (socket.phase === 'ready') sendText(deps, socket, unavailable)
  }
}

/** An account that was read before a change has no word on a demand that followed the change: only a newer token meets it. */
function take({ timeouts }: ReauthenticationDeps, socket: AuthenticatedSocket, claims: Claims): void {
  const { session } = socket
  if (claims.iat > session.iat) timeouts.reauthentications.delete(socket)
  if (claims.iat >= session.iat) Object.assign(session, claims)
}

/** The event of a change may come before the answer to a read that preceded the change. */
async function judge(deps: ReauthenticationDeps, user: LocalUser, { iat, exp }: Claims) {
  const status = judgeToken({ iat }, await deps.accountStates.find(user.id))
  if (status !== 'live') return refusals[status]
  return user.ending && isEndedBy(user.ending, { iat }) ? 'tokenRevoked' : { iat, exp }
}

function refuse(deps: ReauthenticationDeps, socket: AuthenticatedSocket, refusal: HandshakeRefusal): void {
  closeSocket(deps, socket, closures[refusal])
  deps.sessionMetrics.forcedDisconnects.inc({ reason: 'token_refused' })
}
