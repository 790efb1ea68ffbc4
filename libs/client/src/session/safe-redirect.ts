const someOrigin = 'https://here.invalid'
/** Browsers drop tabs and line breaks and read a backslash as a slash, so none of them may hide a second slash. */
const deceiving = /[\u0000-\u001f\u007f-\u009f\\]/

/**
 * Whether a redirect target stays on this site: it starts with `/` and not `//`, and still does so after everything
 * that a browser or a router may do to it (dot segments, percent-decoding, repeatedly).
 * Spec: Client session behaviour, route guard.
 */
export function isSafeRedirect(target: string): boolean {
  if (!staysHere(target)) return false
  const pathEnd = target.search(/[?#]/)
  let path = pathEnd < 0 ? target : target.slice(0, pathEnd)
  // NOTE: each decoding shortens the path or leaves it alone, so this ends.
  for (;;) {
    if (!staysHere(path)) return false
    const decoded = decode(path)
    if (decoded === null) return false
    if (decoded === path) return true
    path = decoded
  }
}

/** The target when it is safe, else the fallback. */
export function safeRedirect(target: string | null | undefined, fallback = '/channels/@me'): string {
  return target && isSafeRedirect(target) ? target : fallback
}

function staysHere(target: string): boolean {
  if (!target.startsWith('/') || target.startsWith('//') || deceiving.test(target)) return false
  const url = URL.parse(target, someOrigin)
  return url?.origin === someOrigin && !url.pathname.startsWith('//')
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
