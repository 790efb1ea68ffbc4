/** First and last byte, both included. */
export type ByteRange = { start: number; end: number }

/**
 * The one range that a Range header asks of a file of `size` bytes; `unsatisfiable` when it lies outside, undefined when
 * the header is to be ignored: malformed, of another unit, or of several ranges. RFC 9110, 14.
 */
export function parseByteRange(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') return suffixRange(Number(last), size)
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function suffixRange(length: number, size: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || size === 0) return 'unsatisfiable'
  return { start: Math.max(0, size - length), end: size - 1 }
}
