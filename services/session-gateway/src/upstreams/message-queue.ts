import type { AuthenticatedSocket } from '../sessions/session-registry.ts'
import type { SessionSocket } from '../socket/session-socket.ts'
import type { LiveUpstream } from './live-upstream.ts'

export type WaitingMessage = { type: string; json: string }

/** One message is under way, the others wait for its reply. */
export type MessageQueue = {
  readonly socket: AuthenticatedSocket
  readonly upstream: LiveUpstream
  readonly waiting: WaitingMessage[]
  isSending: boolean
}

export function queueOf(socket: AuthenticatedSocket, upstream: LiveUpstream): MessageQueue {
  const queues = (socket.messageQueues ??= new Map<LiveUpstream, MessageQueue>())
  const queue = queues.get(upstream) ?? { socket, upstream, waiting: [], isSending: false }
  queues.set(upstream, queue)
  return queue
}

export function addWaiting(queue: MessageQueue, message: WaitingMessage): void {
  queue.waiting.push(message)
  queue.upstream.waitingBytes += message.json.length
}

export function takeWaiting(queue: MessageQueue): WaitingMessage | undefined {
  const message = queue.waiting.shift()
  if (message) queue.upstream.waitingBytes -= message.json.length
  return message
}

/** Nothing is sent for a revoked session. Design: invariant 1. */
export function dropMessages(socket: SessionSocket): void {
  for (const queue of socket.messageQueues?.values() ?? []) {
    queue.upstream.blocked.delete(queue)
    while (takeWaiting(queue)) continue
  }
  socket.messageQueues = undefined
}
