import type { Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { policy } from '../policy.ts'
import { namedPeer, signerOf } from './require-peer.ts'

type Limit = { requests: number; windowMs: number }

/** Counts requests by key in fixed windows. It holds for one process. Throws peer_limit. */
export function createLimit({ clock }: Pick<Deps, 'clock'>, { requests, windowMs }: Limit) {
  const windows = new Map<string, { endsAt: number; count: number }>()
  return {
    take(key: string): void {
      const now = clock.now()
      for (const [name, { endsAt }] of windows) if (endsAt <= now) windows.delete(name)
      const window = windows.get(key) ?? { endsAt: now + windowMs, count: 0 }
      window.count += 1
      windows.set(key, window)
      if (window.count <= requests) return
      const retryAfter = Math.max(1, Math.ceil((window.endsAt - now) / 1_000))
      const fields = { message: 'Rate limit exceeded', retryAfter }
      throw refuse.peer_limit({ headers: { 'Retry-After': String(retryAfter) }, fields })
    },
  }
}

/** How many requests a peer may make in a minute; after `requirePeer`. federation-wire.md 1, limits. */
export function limitPeer(deps: Pick<Deps, 'clock'>, requests: number): Middleware {
  const limit = createLimit(deps, { requests, windowMs: 60_000 })
  return async (ctx, next) => {
    limit.take(signerOf(ctx).id)
    await next()
  }
}

/**
 * Admits the body of a relay, before it is read: only of a peer, one at a time for each, eight in all. Throws
 * signature_missing, peer_unknown, relay_busy. Contract: 7, relay.
 */
export function admitRelay(deps: Pick<Deps, 'orm'>): Middleware {
  const reading = new Set<string>()
  return async (ctx, next) => {
    const { id } = await namedPeer(deps, ctx.headers)
    if (reading.has(id) || reading.size >= policy.relayBodiesAtOnce) {
      throw refuse.relay_busy({ headers: { 'Retry-After': '1' } })
    }
    reading.add(id)
    // Anybody can name a peer: a body that does not end must not keep the peer's own from being read.
    const deadline = setTimeout(() => ctx.req.destroy(), policy.relayReadMs)
    try {
      await next()
    } finally {
      clearTimeout(deadline)
      reading.delete(id)
    }
  }
}
