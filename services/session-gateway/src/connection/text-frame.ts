import { upstreamLimits } from '@gatehouse/contracts'

/** The longest payloads of the one-byte and three-byte length. RFC 6455, 5.2. */
const shortLength = 125
const mediumLength = 0xffff

/** RFC 6455, 5.2. */
export function textFrameHeader(length: number): Buffer {
  if (length <= shortLength) return Buffer.of(0x81, length)
  const header = Buffer.alloc(length <= mediumLength ? 4 : 10)
  header[0] = 0x81
  header[1] = length <= mediumLength ? 126 : 127
  if (length <= mediumLength) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}

export function encodeMessage(message: object): Buffer {
  return Buffer.from(JSON.stringify(message))
}

export function cutText(text: string): string {
  if (text.length <= upstreamLimits.errorTextMax) return text
  return [...text.slice(0, 2 * upstreamLimits.errorTextMax)].slice(0, upstreamLimits.errorTextMax).join('')
}
