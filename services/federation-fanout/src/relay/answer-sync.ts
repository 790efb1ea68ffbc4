import { selectRows } from '@gatehouse/database'
import { User, type Peer } from '@gatehouse/domain'
import type { z } from 'zod'
import type { syncBody, syncReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { normalizeSignedOrigin } from '../peers/signature.ts'
import { profileEvent } from './profile-event.ts'

/**
 * The events since a time: of this instance, the profiles of the users that the asking peer holds replicas of. A page may
 * be longer than asked where several profiles changed in the same millisecond. federation-wire.md 3, sync.
 */
export async function answerSync(
  { orm, config }: Pick<Deps, 'orm' | 'config'>,
  peer: Peer,
  { sinceTimestamp, limit, contextType }: z.infer<typeof syncBody>,
): Promise<z.infer<typeof syncReply>> {
  if (contextType !== 'profile') return { events: [], hasMore: false, checkpoint: sinceTimestamp }
  const since = Math.floor(sinceTimestamp)
  const em = orm.em.fork()
  const sql = `select id::text as id from users where profile_updated_at > ? and not is_deleted and home_instance is null
    and strpos(replicated_instances, ?) > 0`
  const candidates = await selectRows<{ id: string }>(em, sql, [since, peer.host])
  const ids = candidates.map(({ id }) => id)
  const users = await em.find(User, { id: { $in: ids } }, { orderBy: { profileUpdatedAt: 'asc', id: 'asc' } })
  const concerned = users.filter(
    (user) =>
      user.isNative() && user.replicatedInstances.some(({ origin }) => normalizeSignedOrigin(origin) === peer.origin),
  )
  const last = concerned[Math.min(limit, concerned.length) - 1]?.profileUpdatedAt ?? since
  const page = concerned.filter(({ profileUpdatedAt }) => profileUpdatedAt <= last)
  const events = page.map((user) => profileEvent(config, user))
  return { events, hasMore: page.length < concerned.length, checkpoint: Math.max(sinceTimestamp, last) }
}
