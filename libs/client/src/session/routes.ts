// The entry `@gatehouse/client/routes`: only pages need it.
import { isSafeRedirect } from '@gatehouse/contracts/constants'

export { isSafeRedirect }

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

export function safeRedirect(target: string | null | undefined, fallback: string = routes.home): string {
  return target && isSafeRedirect(target) ? target : fallback
}
