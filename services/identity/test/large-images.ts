import { crc32, deflateSync } from 'node:zlib'

/** A small PNG whose header claims `width` by `height` pixels; only the first, black ones are in it. */
export function bombPng(width: number, height: number, { depth = 8, isInterlaced = false } = {}): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([depth, 2, 0, 0, isInterlaced ? 1 : 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const pixels = deflateSync(Buffer.alloc(4 * 1024 * 1024), { level: 9 })
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(content.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** A GIF of `frames` frames on a canvas of `side` pixels squared; each frame draws one pixel. */
export function sparseGif(side: number, frames: number): Buffer {
  const screen = Buffer.alloc(7)
  screen.writeUInt16LE(side, 0)
  screen.writeUInt16LE(side, 2)
  screen.writeUInt8(0x80, 4)
  const palette = Buffer.from([0, 0, 0, 255, 255, 255])
  const pixel = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0])
  const content = Array<Buffer>(frames).fill(pixel)
  return Buffer.concat([Buffer.from('GIF89a', 'latin1'), screen, palette, ...content, Buffer.from([0x3b])])
}
