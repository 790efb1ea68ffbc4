import Router from '@koa/router'
import type { AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'

/** Contract: 3, Applications. */
export function interactionRoutes(_deps: Deps): Router<AppState> {
  return new Router<AppState>({ sensitive: true })
}
