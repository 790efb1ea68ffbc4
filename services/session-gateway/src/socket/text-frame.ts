/** Longest payload whose length fits into the second byte of a frame, and into two further ones. RFC 6455, 5.2. */
const shortLength = 125
const mediumLength = 0xffff

/** The header of a whole, unmasked text frame with a payload of `length` bytes. RFC 6455, 5.2. */
export function textFrameHeader(length: number): Buffer {
  if (length <= shortLength) return Buffer.of(0x81, length)
  const header = Buffer.alloc(length <= mediumLength ? 4 : 10)
  header[0] = 0x81
  header[1] = length <= mediumLength ? 126 : 127
  if (length <= mediumLength) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
