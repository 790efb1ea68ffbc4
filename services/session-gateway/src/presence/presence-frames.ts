import type { PresenceMessage } from '@gatehouse/contracts'
import { encodeMessage } from '../socket/send-text.ts'
import { textFrameHeader } from '../socket/text-frame.ts'

/** A user's presence as others are to see it. */
export type VisibleChange = { userId: string; status: 'online' | 'offline'; takenAt: number }

/** Several `presence_update` messages as the bytes of their frames: encoded once for all sockets that get them. */
export class PresenceFrames {
  readonly bytes: Buffer
  readonly #rangesOf = new Map<string, { from: number; to: number }[]>()

  constructor(changes: readonly VisibleChange[]) {
    const frames: Buffer[] = []
    let length = 0
    for (const { userId, status } of changes) {
      const message = encodeMessage({ type: 'presence_update', userId, status } satisfies PresenceMessage)
      const header = textFrameHeader(message.length)
      frames.push(header, message)
      const to = length + header.length + message.length
      const ranges = this.#rangesOf.get(userId) ?? []
      ranges.push({ from: length, to })
      this.#rangesOf.set(userId, ranges)
      length = to
    }
    this.bytes = Buffer.concat(frames, length)
  }

  /** The same without the messages about one user. */
  without(userId: string): Buffer[] {
    const ranges = this.#rangesOf.get(userId)
    if (!ranges) return [this.bytes]
    const parts: Buffer[] = []
    let from = 0
    for (const range of ranges) {
      parts.push(this.bytes.subarray(from, range.from))
      from = range.to
    }
    return [...parts, this.bytes.subarray(from)].filter((part) => part.length > 0)
  }
}
