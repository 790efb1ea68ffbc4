import { invalidInput } from '@gatehouse/runtime'

export type RequestTarget = { path: string; search: string }

/** Printable ASCII without `"`, `#` and `%`. */
const plain = /^\/[!$&-~]*$/
const printable = /^\/[!$-~]*$/

/** The gateway and the service must read the same path. Throws invalid_input. */
export function parseRequestTarget(url: string): RequestTarget {
  if (plain.test(url)) return split(url)
  const local = /^https?:\/\//i.test(url) ? stripOrigin(url) : url
  if (!printable.test(local)) throw malformed('The address is not valid')
  const { path, search } = split(local)
  return { path: path.split('/').map(normalizeSegment).join('/'), search }
}

/** Throws invalid_input for malformed percent-encodings. */
export function checkQuery(search: string): void {
  if (search.includes('%')) decode(search)
}

/** Encodes every segment anew. Throws invalid_input for dot segments and for slashes within a segment. */
export function normalizePath(path: string): string {
  const normalized = simple.test(path) ? path : path.split('/').map(normalizeSegment).join('/')
  if (/\/\.\.?(?:\/|$)/.test(normalized)) throw malformed('The address has a dot segment')
  return normalized
}

const simple = /^[/\w.~@-]*$/

function split(url: string): RequestTarget {
  const mark = url.indexOf('?')
  return mark === -1 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) }
}

/** The absolute form is for proxies. RFC 9112, 3.2.2. */
function stripOrigin(url: string): string {
  if (!URL.canParse(url)) throw malformed('The address is not valid')
  const { pathname, search } = new URL(url)
  return pathname + search
}

function normalizeSegment(segment: string): string {
  const decoded = decode(segment)
  if (/[/\\\0]/.test(decoded)) throw malformed('The address is not valid')
  return encodeURIComponent(decoded).replaceAll('%40', '@')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw malformed('The address is not encoded correctly', cause)
  }
}

function malformed(text: string, cause?: unknown): Error {
  return invalidInput({ field: 'address', reason: 'malformed' }, { text, cause })
}
