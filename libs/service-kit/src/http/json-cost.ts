/** Each list, object and comma outside texts counts as a value. */
type JsonCost = { depth: number; values: number }

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const openers = [0x5b, 0x7b]
const closers = [0x5d, 0x7d]

/** Whether parsing these bytes costs at most so much. Stops at the first byte that is too much. Contract: 1. */
export function costsAtMost(bytes: Uint8Array, most: JsonCost): boolean {
  let [depth, values] = [0, 0]
  let [isText, isEscaped] = [false, false]
  for (const byte of bytes) {
    if (isText) {
      if (isEscaped) isEscaped = false
      else if (byte === backslash) isEscaped = true
      else if (byte === quote) isText = false
    } else if (byte === quote) {
      isText = true
    } else if (closers.includes(byte)) {
      depth -= 1
    } else if (byte === comma || openers.includes(byte)) {
      if (byte !== comma) depth += 1
      values += 1
      if (depth > most.depth || values > most.values) return false
    }
  }
  return true
}
