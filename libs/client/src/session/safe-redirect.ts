const testOrigin = 'https://origin.invalid'
/** Browsers drop or convert these: a second slash could be hidden. */
const unsafeCharacters = /[\u0000-\u001f\u007f-\u009f\\]/

/** Covers dot segments and repeated decoding. Spec: Client session behaviour, route guard. */
export function isSafeRedirect(target: string): boolean {
  if (resolve(target) === null) return false
  const pathEnd = target.search(/[?#]/)
  // The loop includes added paths. It ends, because decoding only shortens.
  const paths = new Set([pathEnd < 0 ? target : target.slice(0, pathEnd)])
  for (const path of paths) {
    const resolved = resolve(path)
    const decoded = decode(path)
    if (resolved === null || decoded === null) return false
    paths.add(resolved).add(decoded)
  }
  return true
}

export function safeRedirect(target: string | null | undefined, fallback = '/channels/@me'): string {
  return target && isSafeRedirect(target) ? target : fallback
}

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
