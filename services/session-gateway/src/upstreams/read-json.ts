import { upstreamLimits } from '@gatehouse/contracts'

/** Throws SyntaxError, or TypeError where it is not UTF-8 or too deep. */
export function readJson(bytes: Uint8Array): unknown {
  const value = JSON.parse(decoder.decode(bytes)) as unknown
  if (!isNestedAtMost(value, upstreamLimits.nesting)) throw new TypeError('the JSON is nested too deeply')
  return value
}

/** `JSON.stringify` throws beyond some thousand levels, `JSON.parse` does not. */
export function isNestedAtMost(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((inner) => isNestedAtMost(inner, levels - 1))
}

const decoder = new TextDecoder('utf-8', { fatal: true })
