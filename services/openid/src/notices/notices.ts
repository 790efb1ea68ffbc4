import Router from '@koa/router'
import type { AppState } from '@gatehouse/service-kit'
import type { Deps } from '../deps.ts'

/** Tells applications what has ended. Contract: 3, Applications. */
export async function startNotices(_deps: Deps): Promise<AsyncDisposable> {
  return { [Symbol.asyncDispose]: async () => undefined }
}

/** OpenID Shared Signals Framework 1.0: the stream of an application. */
export function signalRoutes(_deps: Deps): Router<AppState> {
  return new Router<AppState>({ sensitive: true })
}
