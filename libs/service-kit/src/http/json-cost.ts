/** Each list, object and comma outside texts counts as a value. */
type JsonCost = { depth: number; values: number }

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Whether parsing these bytes costs at most so much. Stops at the first byte that is too much. Contract: 1, JSON bodies. */
export function costsAtMost(bytes: Uint8Array, most: JsonCost): boolean {
  let [depth, values] = [0, 0]
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index]
    if (byte === quote) {
      index = endOfText(bytes, index + 1)
    } else if (byte === closeList || byte === closeObject) {
      depth -= 1
    } else if (byte === comma || byte === openList || byte === openObject) {
      if (byte !== comma) depth += 1
      values += 1
      if (depth > most.depth || values > most.values) return false
    }
  }
  return true
}

function endOfText(bytes: Uint8Array, start: number): number {
  let index = start
  while (index < bytes.length && bytes[index] !== quote) index += bytes[index] === backslash ? 2 : 1
  return index
}
