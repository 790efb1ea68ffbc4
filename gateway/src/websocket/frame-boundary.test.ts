import { expect } from 'chai'
import { FrameBoundary, maskedCloseFrame } from './socket-pairs.ts'

const payloads = [0, 1, 125, 126, 65_535, 65_536]

/** The frame of a client, with a mask. */
function buildFrame(length: number): Buffer {
  const mask = Buffer.from([1, 2, 3, 4])
  if (length < 126) return Buffer.concat([Buffer.from([0x81, 0x80 | length]), mask, Buffer.alloc(length, 0xff)])
  const wide = length > 65_535
  const head = Buffer.alloc(wide ? 10 : 4)
  head.writeUInt8(0x81, 0)
  head.writeUInt8(0x80 | (wide ? 127 : 126), 1)
  if (wide) head.writeBigUInt64BE(BigInt(length), 2)
  else head.writeUInt16BE(length, 2)
  return Buffer.concat([head, mask, Buffer.alloc(length, 0xff)])
}

describe('The boundary between the frames of a socket', () => {
  it('is reached after each frame and nowhere else, however the bytes come', () => {
    for (const step of [1, 2, 3, 7, 1_000, 1_000_000]) {
      const boundary = new FrameBoundary()
      const frames = payloads.map(buildFrame)
      const ends = new Set(frames.map((_frame, index) => Buffer.concat(frames.slice(0, index + 1)).length))
      const bytes = Buffer.concat(frames)
      let wrong = 0
      for (let from = 0; from < bytes.length; from += step) {
        boundary.add(bytes.subarray(from, from + step))
        if (boundary.isReached() !== ends.has(Math.min(from + step, bytes.length))) wrong += 1
      }

      expect(wrong, `${step} bytes at a time`).to.equal(0)
    }
  })

  it('lies behind a close frame, which carries its code and reason', () => {
    const boundary = new FrameBoundary()
    const frame = maskedCloseFrame({ code: 1012, message: 'Server is restarting' })
    boundary.add(frame)

    expect(boundary.isReached()).to.equal(true)
    expect(frame.readUInt16BE(6)).to.equal(1012)
    expect(frame.subarray(8).toString()).to.equal('Server is restarting')
  })
})
