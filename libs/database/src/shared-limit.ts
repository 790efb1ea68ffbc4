import type { EntityManager } from '@mikro-orm/postgresql'
import { read } from './rows.ts'

export type SharedLimit = { name: string; requests: number; windowMs: number }

/** Fixed windows, shared by all replicas. Refused requests count too: `remaining` is below 0. `retryAfter` in seconds. */
export async function takeShared(
  em: EntityManager,
  { limit, key, now }: { limit: SharedLimit; key: string; now: number },
): Promise<{ remaining: number; retryAfter: number }> {
  const { name, requests, windowMs } = limit
  const [row] = await read<{ requests: number; endsAt: number }>(
    em,
    `insert into federation_limits as stored (name, key, requests, ends_at) values (?, ?, 1, ?)
     on conflict (name, key) do update set
       requests = case when stored.ends_at <= ? then 1 else stored.requests + 1 end,
       ends_at = case when stored.ends_at <= ? then excluded.ends_at else stored.ends_at end
     returning requests, (extract(epoch from ends_at) * 1000)::float8 as "endsAt"`,
    [name, key, new Date(now + windowMs), new Date(now), new Date(now)],
  )
  const { requests: count, endsAt } = row ?? { requests: 1, endsAt: now + windowMs }
  return { remaining: requests - count, retryAfter: Math.max(1, Math.ceil((endsAt - now) / 1_000)) }
}
