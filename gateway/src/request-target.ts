import { commonErrors } from '@gatehouse/runtime'

/** Where a request goes: a path in one spelling only, and `?` with the query, or nothing. */
export type RequestTarget = { path: string; search: string }

/** A path that has nothing to decode; what is missing from the class is `"`, `#` and `%`. */
const plain = /^\/[!$&-~]*$/
const printable = /^\/[!$-~]*$/

/**
 * Reads a request's target. The path is spelled in one way afterwards, so that the gateway and the service behind it
 * cannot read it differently. Throws invalid_input for what is no path, and for broken percent-encodings.
 */
export function parseRequestTarget(url: string): RequestTarget {
  if (plain.test(url)) return split(url)
  const local = /^https?:\/\//i.test(url) ? withoutOrigin(url) : url
  if (!printable.test(local)) throw commonErrors.invalid_input({ message: 'The address is not valid' })
  const { path, search } = split(local)
  decode(search)
  return { path: path.split('/').map(respell).join('/'), search }
}

function split(url: string): RequestTarget {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) }
}

/** The absolute form that clients send to proxies. */
function withoutOrigin(url: string): string {
  if (!URL.canParse(url)) throw commonErrors.invalid_input({ message: 'The address is not valid' })
  const { pathname, search } = new URL(url)
  return pathname + search
}

function respell(part: string): string {
  const decoded = decode(part)
  if (/[/\\\0]/.test(decoded)) throw commonErrors.invalid_input({ message: 'The address is not valid' })
  return encodeURIComponent(decoded).replaceAll('%40', '@')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw commonErrors.invalid_input({ message: 'The address is not encoded correctly', cause })
  }
}
