import { type Upstream, upstreamSubjects } from '@gatehouse/upstreams'
import type { AuthenticatedSocket } from '../sessions/session-registry.ts'

export type WaitingMessage = { type: string; ref?: string; json: string }

/** One message of a socket is under way, the others wait for its reply. */
export type MessageQueue = {
  readonly socket: AuthenticatedSocket
  readonly upstream: LiveUpstream
  readonly waiting: WaitingMessage[]
  isSending: boolean
}

export type LiveUpstream = ReturnType<typeof createLiveUpstream>

/** Stays the same object while a new file still names it. */
export const createLiveUpstream = (definition: Upstream, busPrefix: string) => ({
  name: definition.name,
  subjects: upstreamSubjects(definition.name, busPrefix),
  definition,
  isRemoved: false,
  messagesInFlight: 0,
  /** In the order in which they came. */
  blocked: new Set<MessageQueue>(),
  waitingBytes: 0,
  questionsInFlight: 0,
})

/** With the dot. Empty without one. */
export const messagePrefixOf = (type: string) => type.slice(0, type.indexOf('.') + 1)

export class UpstreamSet {
  readonly #busPrefix: string
  #ownerOf = new Map<string, LiveUpstream>()
  all: readonly LiveUpstream[] = []
  definitions: readonly Upstream[] = []
  withReadyParts: readonly LiveUpstream[] = []
  withAudience: readonly LiveUpstream[] = []

  constructor(busPrefix: string) {
    this.#busPrefix = busPrefix
  }

  ownerOf(type: unknown): LiveUpstream | undefined {
    if (this.#ownerOf.size === 0 || typeof type !== 'string') return undefined
    return this.#ownerOf.get(messagePrefixOf(type))
  }

  /** Work for an upstream that is still named goes on. */
  replace(definitions: readonly Upstream[]): void {
    const previous = this.all
    const all = definitions.map((definition) => {
      const existing = previous.find(({ name }) => name === definition.name)
      return Object.assign(existing ?? createLiveUpstream(definition, this.#busPrefix), { definition })
    })
    this.all = all
    this.definitions = definitions
    for (const upstream of previous) upstream.isRemoved = !all.includes(upstream)
    const owners = all.flatMap((upstream) => upstream.definition.messages.map((prefix) => [prefix, upstream] as const))
    this.#ownerOf = new Map(owners)
    this.withReadyParts = all.filter(({ definition }) => definition.ready.length > 0)
    this.withAudience = all.filter(({ definition }) => definition.answers.includes('audience'))
  }
}
