import { commonErrors } from '@gatehouse/runtime'

/** The path, normalized, and `?` with the query, or nothing. */
export type RequestTarget = { path: string; search: string }

/** A path that is normalized already: printable ASCII without `"`, `#` and `%`. */
const plain = /^\/[!$&-~]*$/
const printable = /^\/[!$-~]*$/

/**
 * Parses and normalizes a request's target, so that the gateway and the service cannot read one path differently.
 * Throws invalid_input for what is not a path, and for malformed percent-encodings in it.
 */
export function parseRequestTarget(url: string): RequestTarget {
  if (plain.test(url)) return split(url)
  const local = /^https?:\/\//i.test(url) ? stripOrigin(url) : url
  if (!printable.test(local)) throw commonErrors.invalid_input({ message: 'The address is not valid' })
  const { path, search } = split(local)
  return { path: path.split('/').map(normalizeSegment).join('/'), search }
}

/** Throws invalid_input for malformed percent-encodings. A request with one counts against the limit of its route before. */
export function checkQuery(search: string): void {
  if (search.includes('%')) decode(search)
}

/**
 * The path, normalized as a service that is not ours may read it: every segment percent-encoded anew. Throws invalid_input
 * for what services read differently: slashes within a segment, and dot segments.
 */
export function normalizePath(path: string): string {
  const normalized = simple.test(path) ? path : path.split('/').map(normalizeSegment).join('/')
  if (/\/\.\.?(?:\/|$)/.test(normalized)) throw commonErrors.invalid_input({ message: 'The address has a dot segment' })
  return normalized
}

/** Without a character that `normalizeSegment` writes otherwise. */
const simple = /^[/\w.~@-]*$/

function split(url: string): RequestTarget {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) }
}

/** Clients send a proxy the absolute form. RFC 9112, 3.2.2. */
function stripOrigin(url: string): string {
  if (!URL.canParse(url)) throw commonErrors.invalid_input({ message: 'The address is not valid' })
  const { pathname, search } = new URL(url)
  return pathname + search
}

function normalizeSegment(segment: string): string {
  const decoded = decode(segment)
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
