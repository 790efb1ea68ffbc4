import { callerHeader, createCallerVerifier, type Caller, type CallerKey } from '@gatehouse/auth'
import { operator, type ActingAdmin } from '@gatehouse/domain'
import { commonErrors, type Clock, type Random } from '@gatehouse/runtime'
import type { Middleware } from 'koa'

/** What the middleware of every service leaves in `ctx.state` for its routes. */
export type AppState = {
  requestId: string
  caller: Caller
}

/** The part of a Koa context that the functions here read; the context of a `Router<AppState>` fits. */
type WithState = { state: AppState }

export const requestIdHeader = 'x-request-id'

/** The id that a request brought, when it is 1 to 128 characters of `[A-Za-z0-9._-]`, else a new one. Contract: 1. */
export function acceptRequestId(brought: string | string[] | undefined, random: Pick<Random, 'uuid'>): string {
  return typeof brought === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(brought) ? brought : random.uuid()
}

/** The id of a request that is being answered, for events, logs and requests that follow from it. */
export function requestIdOf(ctx: WithState): string {
  return ctx.state.requestId
}

/** Refuses a request that did not come through the gateway, and keeps its caller. Design: invariant 6. */
export function requireCaller(deps: { callerKey: CallerKey; clock: Clock }): Middleware<AppState> {
  const verify = createCallerVerifier(deps.callerKey)
  return async (ctx, next) => {
    const caller = verify(ctx.get(callerHeader), deps.clock.now())
    if (!caller) throw commonErrors.forbidden({ message: 'This service is reached through the gateway only' })
    ctx.state.caller = caller
    await next()
  }
}

/** Who is calling, signed in or not. */
export function callerOf(ctx: WithState): Caller {
  return ctx.state.caller
}

/** The signed-in account. Throws unauthorized. */
export function requireUser(ctx: WithState): NonNullable<Caller['account']> {
  const { account } = ctx.state.caller
  if (!account) throw commonErrors.unauthorized()
  return account
}

/** The signed-in account, which is an admin, or the operator. Throws unauthorized or admin_required. Spec: Bearer tokens. */
export function requireAdmin(ctx: WithState): ActingAdmin {
  if (ctx.state.caller.operator) return operator
  const account = requireUser(ctx)
  if (!account.isAdmin) throw commonErrors.admin_required()
  return account
}

/** Admits admins only, before the input is parsed. Throws unauthorized or admin_required. Spec: Bearer tokens, admin routes. */
export const adminsOnly: Middleware<AppState> = async (ctx, next) => {
  requireAdmin(ctx)
  await next()
}

/** Admits the operator only: these routes are for the command line. Throws not_found, as for a path that is none. */
export const operatorsOnly: Middleware<AppState> = async (ctx, next) => {
  if (!ctx.state.caller.operator) throw commonErrors.not_found()
  await next()
}
