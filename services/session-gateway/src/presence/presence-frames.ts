import type { PresenceMessage } from '@gatehouse/contracts'
import { encodeMessage, textFrameHeader } from '../connection/text-frame.ts'

export type VisibleChange = { userId: string; status: 'online' | 'offline'; takenAt: number }

type Encoded = { bytes: Buffer; rangesOf: ReadonlyMap<string, readonly Range[]> }
type Range = { from: number; to: number }

/** Encoded once for all sockets. */
export class PresenceFrames {
  readonly #changes: readonly VisibleChange[]
  #encoded: Encoded | undefined

  constructor(changes: readonly VisibleChange[]) {
    this.#changes = changes
  }

  all(): Buffer[] {
    return [this.#encode().bytes]
  }

  without(userId: string): Buffer[] {
    if (this.#changes.every((change) => change.userId === userId)) return []
    const { bytes, rangesOf } = this.#encode()
    const parts: Buffer[] = []
    let from = 0
    for (const range of rangesOf.get(userId) ?? []) {
      parts.push(bytes.subarray(from, range.from))
      from = range.to
    }
    return [...parts, bytes.subarray(from)].filter((part) => part.length > 0)
  }

  #encode(): Encoded {
    this.#encoded ??= encode(this.#changes)
    return this.#encoded
  }
}

function encode(changes: readonly VisibleChange[]): Encoded {
  const frames: Buffer[] = []
  const rangesOf = new Map<string, Range[]>()
  let length = 0
  for (const { userId, status } of changes) {
    const message = encodeMessage({ type: 'presence_update', userId, status } satisfies PresenceMessage)
    const header = textFrameHeader(message.length)
    frames.push(header, message)
    const to = length + header.length + message.length
    const ranges = rangesOf.get(userId) ?? []
    ranges.push({ from: length, to })
    rangesOf.set(userId, ranges)
    length = to
  }
  return { bytes: Buffer.concat(frames, length), rangesOf }
}
