/** Finds the frame boundaries in one direction of a WebSocket. RFC 6455, 5.2. */
export class FrameBoundary {
  #bytesToCome = 0
  #partialHeader: Buffer | undefined

  isReached(): boolean {
    return this.#bytesToCome === 0 && this.#partialHeader === undefined
  }

  add = (chunk: Buffer): void => {
    let rest = chunk
    if (this.#partialHeader) {
      rest = Buffer.concat([this.#partialHeader, chunk])
      this.#partialHeader = undefined
    }
    while (rest.length > 0) {
      if (this.#bytesToCome === 0) {
        const header = headerLength(rest)
        if (rest.length < header) {
          // The chunk is a part of a larger buffer.
          this.#partialHeader = Buffer.from(rest)
          return
        }
        this.#bytesToCome = payloadLength(rest)
        rest = rest.subarray(header)
      }
      const taken = Math.min(this.#bytesToCome, rest.length)
      this.#bytesToCome -= taken
      rest = rest.subarray(taken)
    }
  }
}

function headerLength(frame: Buffer): number {
  const second = frame[1]
  if (second === undefined) return 2
  const length = second & 0x7f
  const extended = length === 126 ? 2 : length === 127 ? 8 : 0
  return 2 + extended + (second & 0x80 ? 4 : 0)
}

function payloadLength(frame: Buffer): number {
  const length = frame.readUInt8(1) & 0x7f
  if (length === 126) return frame.readUInt16BE(2)
  return length === 127 ? Number(frame.readBigUInt64BE(2)) : length
}

/** A zero mask is safe between the gateway and its service. RFC 6455, 5.5.1. */
export function maskedCloseFrame({ code, message }: { code: number; message: string }): Buffer {
  const reason = Buffer.from(message)
  const frame = Buffer.alloc(2 + 4 + 2 + reason.length)
  frame.writeUInt8(0x88, 0)
  frame.writeUInt8(0x80 | (2 + reason.length), 1)
  frame.writeUInt16BE(code, 6)
  reason.copy(frame, 8)
  return frame
}
