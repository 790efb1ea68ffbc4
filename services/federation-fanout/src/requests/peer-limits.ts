import { read } from '@gatehouse/database'
import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { signerOf } from './require-peer.ts'

type Limit = { name: string; requests: number; windowMs: number }

/** Fixed windows, shared by all replicas. Refused requests count too. Throws rate_limited. Contract: 1, 7. */
export async function takeFromLimit(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  ctx: Pick<Context, 'set'>,
  { limit: { name, requests, windowMs }, key }: { limit: Limit; key: string },
): Promise<void> {
  const now = clock.now()
  const [row] = await read<{ requests: number; endsAt: number }>(
    orm.em.fork(),
    `insert into federation_limits as stored (name, key, requests, ends_at) values (?, ?, 1, ?)
     on conflict (name, key) do update set
       requests = case when stored.ends_at <= ? then 1 else stored.requests + 1 end,
       ends_at = case when stored.ends_at <= ? then excluded.ends_at else stored.ends_at end
     returning requests, (extract(epoch from ends_at) * 1000)::float8 as "endsAt"`,
    [name, key, new Date(now + windowMs), new Date(now), new Date(now)],
  )
  const { requests: taken, endsAt } = row ?? { requests: 1, endsAt: now + windowMs }
  const retryAfter = Math.max(1, Math.ceil((endsAt - now) / 1_000))
  ctx.set({
    'RateLimit-Limit': String(requests),
    'RateLimit-Remaining': String(Math.max(0, requests - taken)),
    'RateLimit-Reset': String(retryAfter),
  })
  if (taken <= requests) return
  const fields = { message: 'Rate limit exceeded', retryAfter } as const
  throw refuse.rate_limited({ headers: { 'Retry-After': String(retryAfter) }, fields })
}

/** Use it after `requirePeer`: strangers must not use up the limit. federation-wire.md 1, limits. */
export function limitPeer(deps: Pick<Deps, 'orm' | 'clock'>, limit: Limit): Middleware {
  return async (ctx, next) => {
    await takeFromLimit(deps, ctx, { limit, key: signerOf(ctx).id })
    await next()
  }
}
