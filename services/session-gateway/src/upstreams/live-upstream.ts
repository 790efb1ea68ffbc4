import { upstreamSubjects, type Upstream } from '@gatehouse/contracts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'

export type WaitingMessage = { type: string; json: string }

/** One message of a socket is under way, the others wait for its reply. */
export type MessageQueue = {
  readonly socket: AuthenticatedSocket
  readonly upstream: LiveUpstream
  readonly waiting: WaitingMessage[]
  isSending: boolean
}

/** Stays the same object while a new file still names it. */
export class LiveUpstream {
  readonly name: string
  readonly subjects: ReturnType<typeof upstreamSubjects>
  definition: Upstream
  isRemoved = false
  messagesInFlight = 0
  /** In the order in which they came. */
  readonly blocked = new Set<MessageQueue>()
  waitingBytes = 0
  questionsInFlight = 0

  constructor(definition: Upstream, busPrefix: string) {
    this.name = definition.name
    this.definition = definition
    this.subjects = upstreamSubjects(definition.name, busPrefix)
  }

  owns(type: string): boolean {
    return this.definition.messages.includes(messagePrefixOf(type))
  }
}

/** With the dot. Empty without one. */
export function messagePrefixOf(type: string): string {
  return type.slice(0, type.indexOf('.') + 1)
}
