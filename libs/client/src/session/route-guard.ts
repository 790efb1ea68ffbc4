import { safeRedirect } from './safe-redirect.ts'

export const routes = { login: '/login', register: '/register', home: '/channels/@me' } as const

/** Show the page, or redirect (replace the history entry, do not push one). */
export type RouteVerdict = { allowed: true } | { allowed: false; redirect: string }

/** Log-in and registration: the pages for visitors without a session. */
export function isAuthPage(pathname: string): boolean {
  const path = pathname.replace(/\/+$/, '')
  return path === routes.login || path === routes.register
}

/**
 * Decides whether a page may be shown. Every page is protected but the auth pages and those that the caller declares
 * public. The redirect to the log-in page carries the requested page. Spec: Client session behaviour, route guard.
 */
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
    return { allowed: false, redirect: safeRedirect(new URLSearchParams(search).get('redirect'), routes.home) }
  }
  if (token || visit.isPublic) return { allowed: true }
  const requested = pathname + search
  if (requested === '/' || requested === routes.home) return { allowed: false, redirect: routes.login }
  return { allowed: false, redirect: `${routes.login}?${new URLSearchParams({ redirect: requested })}` }
}
