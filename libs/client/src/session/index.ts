// The entry `@gatehouse/client/routes`: only pages need it.
export { guardRoute, isAuthPage, routes, type RouteVerdict } from './route-guard.ts'
export { isSafeRedirect, safeRedirect } from './safe-redirect.ts'
