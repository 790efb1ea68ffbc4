const testOrigin = 'https://origin.invalid'
/** Browsers drop tabs and line breaks and read a backslash as a slash: each could hide a second slash. */
const unsafeCharacters = /[\u0000-\u001f\u007f-\u009f\\]/

/**
 * Whether a redirect target is on this origin: it starts with `/` and not `//`, also after all normalization by browser
 * and router (dot segments, repeated percent-decoding).
 * Spec: Client session behaviour, route guard.
 */
export function isSafeRedirect(target: string): boolean {
  if (!isSameOrigin(target)) return false
  const pathEnd = target.search(/[?#]/)
  let path = pathEnd < 0 ? target : target.slice(0, pathEnd)
  // NOTE: this ends, since each decoding shortens the path or leaves it unchanged.
  for (;;) {
    if (!isSameOrigin(path)) return false
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

function isSameOrigin(target: string): boolean {
  if (!target.startsWith('/') || target.startsWith('//') || unsafeCharacters.test(target)) return false
  const url = URL.parse(target, testOrigin)
  return url?.origin === testOrigin && !url.pathname.startsWith('//')
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
