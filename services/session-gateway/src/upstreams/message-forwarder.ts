import type { PlainSubjects } from '@gatehouse/bus'
import { upstreamLimits, upstreamMessageReply, type SocketErrorCode } from '@gatehouse/contracts'
import { askUpstream, isTooDeep, type OccasionalLog } from '@gatehouse/service-kit'
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

type Outcome = 'acknowledged' | 'refused' | 'revoked' | 'unavailable' | 'too_many'

/** `code` goes to the socket, with its text or that of the upstream. */
type Result = { outcome: Outcome; code?: SocketErrorCode; text?: string; reply?: object }

const unavailable: Result = { outcome: 'unavailable', code: 'service_unavailable' }
const revoked: Result = { outcome: 'revoked', code: 'token_revoked' }
const tooMany: Result = { outcome: 'too_many', code: 'too_many_messages' }
const tooDeep: Result = { outcome: 'refused', code: 'nested_too_deeply' }

/** Messages of one socket to one upstream keep their order. Design: invariant 10. */
export class MessageForwarder {
  readonly #deps: ForwarderDeps
  readonly #queues = new WeakMap<SessionSocket, Map<LiveUpstream, MessageQueue>>()

  constructor(deps: ForwarderDeps) {
    this.#deps = deps
  }

  /** `message` is what the frame says. */
  forward(socket: AuthenticatedSocket, upstream: LiveUpstream, message: { type: string }, frame: Buffer): void {
    if (isTooDeep(frame)) return this.#finish({ socket, upstream }, { ...refOf(message), type: message.type }, tooDeep)
    // An upstream might read another value of a repeated key.
    const waiting: WaitingMessage = { type: message.type, ...refOf(message), json: JSON.stringify(message) }
    const queue = this.#queueOf(socket, upstream)
    const isFull =
      queue.waiting.length >= upstreamLimits.waitingMessages ||
      upstream.waitingBytes + waiting.json.length > policy.upstreamWaitingBytes
    if (isFull) return this.#finish(queue, waiting, tooMany)
    queue.waiting.push(waiting)
    upstream.waitingBytes += waiting.json.length
    this.#sendNext(queue)
  }

  /** Nothing is sent for a revoked session. Design: invariant 1. */
  drop(socket: SessionSocket): void {
    for (const queue of this.#queues.get(socket)?.values() ?? []) {
      queue.upstream.blocked.delete(queue)
      while (takeWaiting(queue)) continue
    }
    this.#queues.delete(socket)
  }

  #queueOf(socket: AuthenticatedSocket, upstream: LiveUpstream): MessageQueue {
    const queues = this.#queues.get(socket) ?? new Map<LiveUpstream, MessageQueue>()
    this.#queues.set(socket, queues)
    const queue = queues.get(upstream) ?? { socket, upstream, waiting: [], isSending: false }
    queues.set(upstream, queue)
    return queue
  }

  #sendNext(queue: MessageQueue): void {
    const { upstream } = queue
    if (queue.isSending || queue.waiting.length === 0) return
    if (upstream.messagesInFlight >= upstreamLimits.messagesInFlight) return void upstream.blocked.add(queue)
    const message = takeWaiting(queue)
    if (message) void this.#send(queue, message)
  }

  async #send(queue: MessageQueue, message: WaitingMessage): Promise<void> {
    const { upstream } = queue
    queue.isSending = true
    upstream.messagesInFlight += 1
    const result = await this.#request(queue, message)
    queue.isSending = false
    upstream.messagesInFlight -= 1
    this.#finish(queue, message, result)
    this.#sendLongestBlocked(queue)
  }

  /** Blocked queues come before the next message of this one. */
  #sendLongestBlocked(queue: MessageQueue): void {
    const { blocked } = queue.upstream
    if (queue.waiting.length > 0) blocked.add(queue)
    const [longest] = blocked
    if (!longest) return
    blocked.delete(longest)
    this.#sendNext(longest)
  }

  /** Never rejects. */
  async #request({ socket, upstream }: MessageQueue, { json }: WaitingMessage): Promise<Result> {
    if (upstream.isRemoved) return unavailable
    const { plain, timings, occasionalLog } = this.#deps
    try {
      const caller = await findCurrentCaller(this.#deps, socket)
      if (!caller) return revoked
      const message = `${JSON.stringify(caller).slice(0, -1)},"message":${json}}`
      const limits = { timeoutMs: timings.upstreamMessageMs, bytes: upstreamLimits.deliveryBytes }
      const question = { subject: upstream.subjects.message, json: message, reply: upstreamMessageReply }
      const reply = await askUpstream(plain, { ...question, ...limits })
      if (reply.error === undefined) return { outcome: 'acknowledged', reply }
      return { outcome: 'refused', code: 'message_refused', text: reply.error }
    } catch (err) {
      const { name } = upstream
      occasionalLog.warn(`message ${name}`, { err, upstream: name }, 'message not given to its upstream')
      return unavailable
    }
  }

  #finish(
    { socket, upstream }: Pick<MessageQueue, 'socket' | 'upstream'>,
    { type, ref }: Pick<WaitingMessage, 'type' | 'ref'>,
    { outcome, code, text, reply }: Result,
  ): void {
    const { sessionMetrics } = this.#deps
    sessionMetrics.upstreamMessages.inc({ upstream: upstream.name, outcome })
    if (socket.phase !== 'ready') return
    const message = text === undefined ? {} : { message: cutText(text) }
    const known = ref === undefined ? {} : { ref }
    if (code) sendText(this.#deps, socket, encodeError(code, { ...message, requestType: cutText(type), ...known }))
    else if (ref !== undefined) sendText(this.#deps, socket, encodeMessage({ type: 'reply', ref, reply }))
  }
}

function takeWaiting(queue: MessageQueue): WaitingMessage | undefined {
  const message = queue.waiting.shift()
  if (message) queue.upstream.waitingBytes -= message.json.length
  return message
}
