import { type Upstream, upstreamSubjects } from '@gatehouse/contracts'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'

export type WaitingMessage = { type: string; ref?: string; json: string }

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
const messagePrefixOf = (type: string) => type.slice(0, type.indexOf('.') + 1)

export class UpstreamSet {
  readonly #busPrefix: string
  #byName = new Map<string, LiveUpstream>()
  #byMessagePrefix = new Map<string, LiveUpstream>()
  definitions: readonly Upstream[] = []
  withReadyParts: readonly LiveUpstream[] = []
  withAudience: readonly LiveUpstream[] = []

  constructor(busPrefix: string) {
    this.#busPrefix = busPrefix
  }

  all(): LiveUpstream[] {
    return [...this.#byName.values()]
  }

  ownerOf(type: unknown): LiveUpstream | undefined {
    if (this.#byMessagePrefix.size === 0 || typeof type !== 'string') return undefined
    return this.#byMessagePrefix.get(messagePrefixOf(type))
  }

  /** Work for an upstream that is still named goes on. */
  replace(definitions: readonly Upstream[]): void {
    const previous = this.#byName
    const all = definitions.map((definition) => {
      const upstream = previous.get(definition.name) ?? new LiveUpstream(definition, this.#busPrefix)
      return Object.assign(upstream, { definition })
    })
    this.definitions = definitions
    this.#byName = new Map(all.map((upstream) => [upstream.name, upstream]))
    for (const upstream of previous.values()) upstream.isRemoved = !this.#byName.has(upstream.name)
    const owners = all.flatMap((upstream) => upstream.definition.messages.map((prefix) => [prefix, upstream] as const))
    this.#byMessagePrefix = new Map(owners)
    this.withReadyParts = all.filter(({ definition }) => definition.ready.length > 0)
    this.withAudience = all.filter(({ definition }) => definition.answers.includes('audience'))
  }
}
