import type { PlainSubjects } from '@gatehouse/bus'
import { upstreamLimits, type SocketErrorCode } from '@gatehouse/contracts'
import type { OccasionalLog } from '@gatehouse/service-kit'
import { askUpstream, isTooDeep, upstreamMessageReply } from '@gatehouse/upstreams'
import { sendText } from '../connection/send-text.ts'
import { type SessionSocket, cutText, encodeError, encodeMessage, refOf } from '../connection/session-socket.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import { findCurrentCaller, type CallerDeps, type AuthenticatedSocket } from '../sessions/session-registry.ts'
import type { LiveUpstream, MessageQueue, WaitingMessage } from './upstream-set.ts'

type ForwarderDeps = CallerDeps &
  Pick<OperationContext, 'timings' | 'sessionMetrics'> & {
    occasionalLog: Pick<OccasionalLog, 'warn'>
    plain: Pick<PlainSubjects, 'request'>
  }

/** `code` goes to the socket, with its text or that of the upstream. */
type Result = {
  outcome: 'acknowledged' | 'refused' | 'revoked' | 'unavailable' | 'too_many'
  code?: SocketErrorCode
  text?: string
  reply?: object
}

const unavailable: Result = { outcome: 'unavailable', code: 'service_unavailable' }
const revoked: Result = { outcome: 'revoked', code: 'token_revoked' }
const tooMany: Result = { outcome: 'too_many', code: 'too_many_messages' }
const tooDeep: Result = { outcome: 'refused', code: 'nested_too_deeply' }

export type MessageForwarder = ReturnType<typeof createMessageForwarder>

/** Messages of one socket to one upstream keep their order. Design: invariant 10. */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createMessageForwarder(deps: ForwarderDeps) {
  const { occasionalLog, plain, sessionMetrics, timings } = deps
  const queuesOf = new WeakMap<SessionSocket, Map<LiveUpstream, MessageQueue>>()

  function queueOf(socket: AuthenticatedSocket, upstream: LiveUpstream): MessageQueue {
    const queues = queuesOf.get(socket) ?? new Map<LiveUpstream, MessageQueue>()
    const queue = queues.get(upstream) ?? { socket, upstream, waiting: [], isSending: false }
    queuesOf.set(socket, queues.set(upstream, queue))
    return queue
  }

  function sendNext(queue: MessageQueue): void {
    const { upstream } = queue
    if (queue.isSending || queue.waiting.length === 0) return
    if (upstream.messagesInFlight >= upstreamLimits.messagesInFlight) return void upstream.blocked.add(queue)
    const message = takeWaiting(queue)
    if (message) void send(queue, message)
  }

  async function send(queue: MessageQueue, message: WaitingMessage): Promise<void> {
    const { upstream } = queue
    queue.isSending = true
    upstream.messagesInFlight += 1
    const result = await request(queue, message)
    queue.isSending = false
    upstream.messagesInFlight -= 1
    finish(queue, message, result)
    // Blocked queues come before the next message of this one.
    if (queue.waiting.length > 0) upstream.blocked.add(queue)
    const [longest] = upstream.blocked
    if (!longest) return
    upstream.blocked.delete(longest)
    sendNext(longest)
  }

  /** Never rejects. */
  async function request({ socket, upstream }: MessageQueue, { json }: WaitingMessage): Promise<Result> {
    const { name, subjects, isRemoved } = upstream
    if (isRemoved) return unavailable
    try {
      const caller = await findCurrentCaller(deps, socket)
      if (!caller) return revoked
      const message = `${JSON.stringify(caller).slice(0, -1)},"message":${json}}`
      const limits = { timeoutMs: timings.upstreamMessageMs, bytes: upstreamLimits.deliveryBytes }
      const question = { subject: subjects.message, json: message, reply: upstreamMessageReply }
      const reply = await askUpstream(plain, { ...question, ...limits })
      if (reply.error === undefined) return { outcome: 'acknowledged', reply }
      return { outcome: 'refused', code: 'message_refused', text: reply.error }
    } catch (err) {
      occasionalLog.warn(`message ${name}`, { err, upstream: name }, 'message not given to its upstream')
      return unavailable
    }
  }

  function finish(
    { socket, upstream }: Pick<MessageQueue, 'socket' | 'upstream'>,
    { type, ref }: Pick<WaitingMessage, 'type' | 'ref'>,
    { outcome, code, text, reply }: Result,
  ): void {
    sessionMetrics.upstreamMessages.inc({ upstream: upstream.name, outcome })
    if (socket.phase !== 'ready') return
    const message = text === undefined ? {} : { message: cutText(text) }
    const refField = ref === undefined ? {} : { ref }
    if (code) sendText(deps, socket, encodeError(code, { ...message, requestType: cutText(type), ...refField }))
    else if (ref !== undefined) sendText(deps, socket, encodeMessage({ type: 'reply', ref, reply }))
  }

  return {
    /** `message` is what the frame says. */
    forward(socket: AuthenticatedSocket, upstream: LiveUpstream, message: { type: string }, frame: Buffer): void {
      const about = { type: message.type, ...refOf(message) }
      if (isTooDeep(frame)) return finish({ socket, upstream }, about, tooDeep)
      // An upstream might read another value of a repeated key.
      const waiting: WaitingMessage = { ...about, json: JSON.stringify(message) }
      const queue = queueOf(socket, upstream)
      const isFull =
        queue.waiting.length >= upstreamLimits.waitingMessages ||
        upstream.waitingBytes + waiting.json.length > policy.upstreamWaitingBytes
      if (isFull) return finish(queue, waiting, tooMany)
      queue.waiting.push(waiting)
      upstream.waitingBytes += waiting.json.length
      sendNext(queue)
    },
    /** Nothing is sent for a revoked session. Design: invariant 1. */
    drop(socket: SessionSocket): void {
      for (const queue of queuesOf.get(socket)?.values() ?? []) {
        queue.upstream.blocked.delete(queue)
        while (takeWaiting(queue)) continue
      }
      queuesOf.delete(socket)
    },
  }
}

function takeWaiting(queue: MessageQueue): WaitingMessage | undefined {
  const message = queue.waiting.shift()
  if (message) queue.upstream.waitingBytes -= message.json.length
  return message
}
