import { commonErrors, type Clock } from '@gatehouse/runtime'
import { callerHeader, verifyCaller, type Caller, type CallerKey } from '@gatehouse/auth'
import type { Context, Middleware } from 'koa'

/** Refuses whatever did not come through the gateway, and keeps who is calling. Design: invariant 6. */
export function requireCaller(deps: { callerKey: CallerKey; clock: Clock }): Middleware {
  return async (ctx, next) => {
    const statement = ctx.get(callerHeader)
    const caller = verifyCaller(deps.callerKey, statement, deps.clock.now())
    if (!caller) throw commonErrors.forbidden({ message: 'This service is reached through the gateway only' })
    ctx.state.caller = caller
    await next()
  }
}

/** Who is calling, signed in or not. */
export function callerOf(ctx: Context): Caller {
  return ctx.state.caller as Caller
}

/** The signed-in account. Throws unauthorized. */
export function memberOf(ctx: Context): NonNullable<Caller['account']> {
  const { account } = callerOf(ctx)
  if (!account) throw commonErrors.unauthorized()
  return account
}

/** The signed-in account, which is an admin. Throws unauthorized or admin_required. Spec: Bearer tokens. */
export function adminOf(ctx: Context): NonNullable<Caller['account']> {
  const account = memberOf(ctx)
  if (!account.isAdmin) throw commonErrors.admin_required()
  return account
}
