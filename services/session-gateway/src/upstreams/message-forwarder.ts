import type { PlainSubjects } from '@gatehouse/bus'
import { upstreamLimits, upstreamMessageReply, type upstreamErrorMessage } from '@gatehouse/contracts'
import type { z } from 'zod'
import { sendText } from '../connection/send-text.ts'
import type { SessionSocket } from '../connection/session-socket.ts'
import { cutText, encodeMessage } from '../connection/text-frame.ts'
import type { OperationContext } from '../context.ts'
import { policy } from '../policy.ts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import { describeCaller } from './describe-caller.ts'
import type { LiveUpstream, MessageQueue, WaitingMessage } from './live-upstream.ts'
import type { OccasionalLog } from './occasional-log.ts'
import { isNestedAtMost, readJson } from './read-json.ts'

type ForwarderDeps = Pick<OperationContext, 'random' | 'timings' | 'sessionMetrics'> & {
  occasionalLog: Pick<OccasionalLog, 'warn'>
  plain: Pick<PlainSubjects, 'request'>
}

/** `error` goes to the socket. */
type Result = { outcome: 'acknowledged' | 'refused' | 'unavailable' | 'too_many'; error?: string; code?: string }

const unavailable: Result = { outcome: 'unavailable', error: 'Service unavailable', code: 'service_unavailable' }
const tooMany: Result = { outcome: 'too_many', error: 'Too many messages', code: 'too_many_messages' }
const tooDeep: Result = { outcome: 'refused', error: 'Nested too deeply', code: 'nested_too_deeply' }

/** Messages of one socket to one upstream keep their order. Design: invariant 10. */
export class MessageForwarder {
  readonly #deps: ForwarderDeps
  readonly #queues = new WeakMap<SessionSocket, Map<LiveUpstream, MessageQueue>>()

  constructor(deps: ForwarderDeps) {
    this.#deps = deps
  }

  forward(socket: AuthenticatedSocket, upstream: LiveUpstream, message: { type: string }): void {
    if (!isNestedAtMost(message, upstreamLimits.nesting)) return this.#finish({ socket, upstream }, message, tooDeep)
    // An upstream might read another value of a repeated key.
    const waiting: WaitingMessage = { type: message.type, json: JSON.stringify(message) }
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
    const body = `${JSON.stringify(describeCaller(socket, this.#deps)).slice(0, -1)},"message":${json}}`
    try {
      const reply = await plain.request(upstream.subjects.message, body, { timeoutMs: timings.upstreamMessageMs })
      const read = upstreamMessageReply.parse(readJson(reply))
      return read.error === undefined ? { outcome: 'acknowledged' } : { outcome: 'refused', error: read.error }
    } catch (err) {
      const { name: upstreamName } = upstream
      occasionalLog.warn(`message ${upstreamName}`, { err, upstream: upstreamName }, 'upstream does not take messages')
      return unavailable
    }
  }

  #finish(
    { socket, upstream }: Pick<MessageQueue, 'socket' | 'upstream'>,
    { type }: Pick<WaitingMessage, 'type'>,
    { outcome, error, code = 'message_refused' }: Result,
  ): void {
    const { sessionMetrics } = this.#deps
    sessionMetrics.upstreamMessages.inc({ upstream: upstream.name, outcome })
    if (error === undefined || socket.phase !== 'ready') return
    const answer: z.infer<typeof upstreamErrorMessage> = {
      type: 'error',
      message: cutText(error),
      code,
      requestType: cutText(type),
    }
    sendText(this.#deps, socket, encodeMessage(answer))
  }
}

function takeWaiting(queue: MessageQueue): WaitingMessage | undefined {
  const message = queue.waiting.shift()
  if (message) queue.upstream.waitingBytes -= message.json.length
  return message
}
