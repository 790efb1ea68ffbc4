const testOrigin = 'https://origin.invalid'
/** Browsers drop tabs and line breaks and read a backslash as a slash: each could hide a second slash. */
const unsafeCharacters = /[\u0000-\u001f\u007f-\u009f\\]/

/**
 * Whether a redirect target is on this origin: it starts with `/` and not `//`, also after all normalization by browser
 * and router (dot segments, repeated percent-decoding).
 * Spec: Client session behaviour, route guard.
 */
export function isSafeRedirect(target: string): boolean {
  if (resolve(target) === null) return false
  const pathEnd = target.search(/[?#]/)
  // Iterates over what is added as well. It ends: each path is looked at once, and decoding only shortens.
  const paths = new Set([pathEnd < 0 ? target : target.slice(0, pathEnd)])
  for (const path of paths) {
    const resolved = resolve(path)
    const decoded = decode(path)
    if (resolved === null || decoded === null) return false
    paths.add(resolved).add(decoded)
  }
  return true
}

/** The target when it is safe, else the fallback. */
export function safeRedirect(target: string | null | undefined, fallback = '/channels/@me'): string {
  return target && isSafeRedirect(target) ? target : fallback
}

/** The path to which a browser resolves a target, or null when it is not on this origin. */
function resolve(target: string): string | null {
  if (!target.startsWith('/') || target.startsWith('//') || unsafeCharacters.test(target)) return null
  const url = URL.parse(target, testOrigin)
  return url?.origin === testOrigin && !url.pathname.startsWith('//') ? url.pathname : null
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
