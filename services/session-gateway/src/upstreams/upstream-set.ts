import type { Upstream } from '@gatehouse/contracts'
import { LiveUpstream, messagePrefixOf } from './live-upstream.ts'

export class UpstreamSet {
  readonly #busPrefix: string
  #byName = new Map<string, LiveUpstream>()
  #byMessagePrefix = new Map<string, LiveUpstream>()
  definitions: readonly Upstream[] = []
  withReadyParts: readonly LiveUpstream[] = []

  constructor(busPrefix: string) {
    this.#busPrefix = busPrefix
  }

  all(): Iterable<LiveUpstream> {
    return this.#byName.values()
  }

  ownerOf(type: unknown): LiveUpstream | undefined {
    if (this.#byMessagePrefix.size === 0 || typeof type !== 'string') return undefined
    return this.#byMessagePrefix.get(messagePrefixOf(type))
  }

  /** Work for an upstream that is still named goes on. */
  replace(definitions: readonly Upstream[]): void {
    const previous = this.#byName
    this.definitions = definitions
    this.#byName = new Map(definitions.map((definition) => [definition.name, this.#takeOver(previous, definition)]))
    for (const upstream of previous.values()) upstream.isRemoved = !this.#byName.has(upstream.name)
    const all = [...this.#byName.values()]
    const owners = all.flatMap((upstream) => upstream.definition.messages.map((prefix) => [prefix, upstream] as const))
    this.#byMessagePrefix = new Map(owners)
    this.withReadyParts = all.filter(({ definition }) => definition.ready.length > 0)
  }

  #takeOver(previous: ReadonlyMap<string, LiveUpstream>, definition: Upstream): LiveUpstream {
    const upstream = previous.get(definition.name) ?? new LiveUpstream(definition, this.#busPrefix)
    upstream.definition = definition
    return upstream
  }
}
