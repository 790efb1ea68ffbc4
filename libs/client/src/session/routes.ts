// The entry `@gatehouse/client/routes`: only pages need it.
import { parseUrl } from '@gatehouse/contracts/constants'

export const routes = { login: '/login', register: '/register', recover: '/recover', home: '/channels/@me' } as const

export type RouteVerdict = { allowed: true } | { allowed: false; redirect: string }

export function isAuthPage(pathname: string): boolean {
  const path = pathname.replace(/\/+$/, '')
  return path === routes.login || path === routes.register
}

/** Protects every page not declared public. Spec: Client session behaviour, route guard. */
export function guardRoute(visit: {
  pathname: string
  /** With its `?`. */
  search: string
  token: string | null
  isPublic?: boolean
}): RouteVerdict {
  const { pathname, search, token } = visit
  if (isAuthPage(pathname)) {
    if (!token) return { allowed: true }
    return { allowed: false, redirect: safeRedirect(new URLSearchParams(search).get('redirect')) }
  }
  if (token || visit.isPublic) return { allowed: true }
  const requested = pathname + search
  if (requested === '/' || requested === routes.home) return { allowed: false, redirect: routes.login }
  return { allowed: false, redirect: `${routes.login}?${new URLSearchParams({ redirect: requested })}` }
}

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

export function safeRedirect(target: string | null | undefined, fallback: string = routes.home): string {
  return target && isSafeRedirect(target) ? target : fallback
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
