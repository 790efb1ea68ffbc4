type ServerFrame = { opcode: number; payload: Buffer }

/** The close codes that a client may see. */
const closeCodes = new Set([1000, 1002, 1003, 1005, 1007, 1008, 1009, 1012])

/** The whole frames of a server, which are not masked; an unfinished one at the end is left out. */
export function parseFrames(bytes: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const short = bytes[at + 1]! & 0x7f
    const extended = short < 126 ? 0 : short === 126 ? 2 : 8
    if (at + 2 + extended > bytes.length) break
    const length =
      extended === 0 ? short : extended === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2))
    const start = at + 2 + extended
    if (start + length > bytes.length) break
    frames.push({ opcode: bytes[at]! & 0x0f, payload: bytes.subarray(start, start + length) })
    at = start + length
  }
  return frames
}

/** Why the frames of a server break the contract; undefined when they do not. */
export function judgeFrames(frames: readonly ServerFrame[]): string | undefined {
  for (const { opcode, payload } of frames) {
    if (opcode === 1 && !isMessage(payload)) return `message ${payload.toString().slice(0, 300)}`
    if (opcode !== 8 || payload.length < 2) continue
    const code = payload.readUInt16BE(0)
    if (!closeCodes.has(code) && !isEcho(code) && (code < 4000 || code > 4099))
      return `close code ${code} ${payload.subarray(2).toString()}`
  }
  return undefined
}

/** No server closes with these: one that arrives is the client's own, which RFC 6455, 5.5.1 has sent back. */
function isEcho(code: number): boolean {
  return code >= 3000 && code <= 3999
}

function isMessage(payload: Buffer): boolean {
  try {
    return typeof (JSON.parse(payload.toString()) as { type?: unknown }).type === 'string'
  } catch {
    return false
  }
}
