import { upstreamLimits } from '@gatehouse/contracts'
import { costsAtMost } from '../http/json-cost.ts'

/** Throws SyntaxError, or TypeError where it is not UTF-8 or too deep. */
export function readJson(bytes: Uint8Array): unknown {
  if (isTooDeep(bytes)) throw new TypeError('the JSON is nested too deeply')
  return JSON.parse(decoder.decode(bytes)) as unknown
}

/** `JSON.stringify` throws beyond some thousand levels, `JSON.parse` does not. */
export function isTooDeep(bytes: Uint8Array): boolean {
  return !costsAtMost(bytes, { depth: upstreamLimits.nesting, values: Infinity })
}

const decoder = new TextDecoder('utf-8', { fatal: true })
