import { takeShared, type SharedLimit } from '@gatehouse/database'
import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { createQuota, rateLimited, refuse } from '@gatehouse/runtime'
import { signerOf } from './require-peer.ts'

/** Throws rate_limited. Contract: 1, 7. */
export async function takeFromLimit(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  ctx: Pick<Context, 'set'>,
  { limit, key }: { limit: SharedLimit; key: string },
): Promise<void> {
  const { remaining, retryAfter } = await takeShared(orm.em.fork(), { limit, key, now: clock.now() })
  ctx.set({
    'RateLimit-Limit': String(limit.requests),
    'RateLimit-Remaining': String(Math.max(0, remaining)),
    'RateLimit-Reset': String(retryAfter),
  })
  if (remaining < 0) throw rateLimited(retryAfter)
}

/** Use it after `requirePeer`: strangers must not use up the limit. federation-wire.md 1, limits. */
export function limitPeer(deps: Pick<Deps, 'orm' | 'clock'>, limit: SharedLimit): Middleware {
  return async (ctx, next) => {
    await takeFromLimit(deps, ctx, { limit, key: signerOf(ctx).id })
    await next()
  }
}

/** Of each peer, in this process. Use it after `requirePeer`. Throws busy. Contract: 7, sync. */
export function oneAtATime(): Middleware {
  const underWay = createQuota(1)
  return async (ctx, next) => {
    const { id } = signerOf(ctx)
    if (!underWay.take(id)) throw refuse.busy({ headers: { 'Retry-After': '1' } })
    try {
      await next()
    } finally {
      underWay.release(id)
    }
  }
}
