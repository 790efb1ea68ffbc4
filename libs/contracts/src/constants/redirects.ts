import { parseUrl } from './origins.ts'

const testOrigin = 'https://origin.invalid'
/** Browsers drop or convert these: a second slash could be hidden. */
const unsafeCharacters = /[\u0000-\u001f\u007f-\u009f\\]/

/** Covers dot segments and repeated decoding. Spec: Client session behaviour, route guard. */
export function isSafeRedirect(target: string): boolean {
  if (resolve(target) === null) return false
  // The loop includes added paths. It ends, because decoding only shortens.
  const paths = new Set(target.split(/[?#]/, 1))
  for (const path of paths) {
    const resolved = resolve(path)
    const decoded = decode(path)
    if (resolved === null || decoded === null) return false
    paths.add(resolved).add(decoded)
  }
  return true
}

function resolve(target: string): string | null {
  if (!target.startsWith('/') || target.startsWith('//') || unsafeCharacters.test(target)) return null
  const url = parseUrl(testOrigin + target)
  return url?.origin === testOrigin && !url.pathname.startsWith('//') ? url.pathname : null
}

function decode(path: string): string | null {
  try {
    return decodeURIComponent(path)
  } catch {
    return null
  }
}
