import { upstreamSubjects, type Upstream } from '@gatehouse/contracts'
import type { MessageQueue } from './message-queue.ts'

/**
 * One upstream as this node serves it: what its file says, and what is under way for it. It stays the same object while a
 * new file still names it.
 */
export class LiveUpstream {
  readonly name: string
  readonly subjects: ReturnType<typeof upstreamSubjects>
  definition: Upstream
  /** A file that no longer names it was taken over. */
  isRemoved = false
  /** Requests with messages that wait for their reply. */
  messagesInFlight = 0
  /** Queues whose next message waits for one of these to end, in the order in which they came. */
  readonly blocked = new Set<MessageQueue>()
  /** What waits in all queues to it. */
  waitingBytes = 0
  /** Questions for its part of `ready` that wait for their reply. */
  questionsInFlight = 0

  constructor(definition: Upstream, busPrefix: string) {
    this.name = definition.name
    this.definition = definition
    this.subjects = upstreamSubjects(definition.name, busPrefix)
  }

  /** Whether messages of a type are this upstream's. */
  owns(type: string): boolean {
    return this.definition.messages.includes(messagePrefixOf(type))
  }
}

/** The type up to its first dot, with it; empty without one. */
export function messagePrefixOf(type: string): string {
  return type.slice(0, type.indexOf('.') + 1)
}
