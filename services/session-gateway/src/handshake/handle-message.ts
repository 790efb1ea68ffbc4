import { unwatchMessage, watchMessage } from '@gatehouse/contracts'
import type { AdminWatch } from '../admin-watch/admin-watch.ts'
import { sendText } from '../connection/send-text.ts'
import { cutText, encodeError, encodeMessage, malformed, parseFrame, refOf } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import type { PresenceWatch } from '../presence/presence-watch.ts'
import { type AuthenticatedSocket, createTokenBucket, takeToken } from '../sessions/session-registry.ts'
import type { MessageForwarder } from '../upstreams/message-forwarder.ts'
import type { UpstreamSet } from '../upstreams/upstream-set.ts'

export type MessageDeps = Pick<OperationContext, 'clock' | 'sessionMetrics'> & {
  adminWatch: AdminWatch
  presenceWatch: PresenceWatch
  upstreams: Pick<UpstreamSet, 'ownerOf'>
  forwarder: MessageForwarder
}

const pong = encodeMessage({ type: 'pong' })
const invalidJson = encodeError('invalid_json')

/** `ping` costs no token of the user, unknown types do. Contract: 6. */
export function handleMessage(deps: MessageDeps, socket: AuthenticatedSocket, data: Buffer, isBinary: boolean): void {
  const message = parseFrame(data, isBinary)
  const type = typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined
  if (type === 'ping') return sendText(deps, socket, pong)
  const { user } = socket.session
  const now = deps.clock.now()
  user.bucket ??= createTokenBucket(now)
  if (!takeToken(user.bucket, now)) return sendText(deps, socket, encodeError('rate_limited', refOf(message)))
  if (message === malformed) return sendText(deps, socket, invalidJson)
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
