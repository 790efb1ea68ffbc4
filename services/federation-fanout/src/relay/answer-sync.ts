import { read } from '@gatehouse/database'
import type { Peer } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { syncBody, syncReply } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { findInstances, listNativeUsers, type NativeUser } from '../queries/native-users.ts'
import { profileEvent } from './profile-event.ts'

/** A page is longer than asked when profiles share a millisecond. federation-wire.md 3, sync. */
export async function answerSync(
  { orm, config }: Pick<Deps, 'orm' | 'config'>,
  peer: Peer,
  { sinceTimestamp, limit, contextType }: z.infer<typeof syncBody>,
): Promise<z.infer<typeof syncReply>> {
  if (contextType !== 'profile') return { events: [], hasMore: false, checkpoint: sinceTimestamp }
  const { page, hasMore } = await readPage(orm.em.fork(), peer, { since: Math.floor(sinceTimestamp), limit })
  const last = page.at(-1)?.at ?? 0
  const events = page.map(({ user }) => profileEvent(config, user))
  return { events, hasMore, checkpoint: Math.max(sinceTimestamp, last) }
}

type Place = { at: number; id: string }
type Changed = { user: NativeUser; at: number }
type Wanted = { since: number; limit: number }

async function readPage(em: EntityManager, peer: Peer, { since, limit }: Wanted) {
  const page: Changed[] = []
  let place: Place | undefined = { at: since, id: maxId }
  while (place) {
    const { candidates, next } = await listChangedAfter(em, peer, place)
    for (const changed of candidates) {
      const isAfter = page.length >= limit && changed.at !== page.at(-1)?.at
      if (isAfter) return { page, hasMore: true }
      page.push(changed)
    }
    place = next
  }
  return { page, hasMore: false }
}

const maxId = '9223372036854775807'

/** Uses the index users_profile_changes. */
async function listChangedAfter(em: EntityManager, { host, origin }: Peer, { at, id }: Place) {
  const rows = await read<Place>(
    em,
    `select u.id::text as id, u.profile_updated_at::float8 as at from users u
     where u.profile_updated_at > 0 and u.home_instance is null and not u.is_deleted
       and (u.profile_updated_at, u.id) > (?, ?)
       and (strpos(lower(u.replicated_instances), ?) > 0 or exists (
         select 1 from federation_registries r where r.user_id = u.id and strpos(lower(r.entries::text), ?) > 0))
     order by u.profile_updated_at, u.id limit ?`,
    [at, id, host, host, policy.syncCandidates],
  )
  const users = await listNativeUsers(em, { id: { $in: rows.map((row) => row.id) } })
  const instances = await findInstances(em, users)
  const known = new Map(users.map((user) => [user.id, user]))
  // The place must stay as read: a later one would skip others.
  const candidates = rows.flatMap((row): Changed[] => {
    const user = known.get(row.id)
    return user && instances.get(row.id)?.has(origin) ? [{ user, at: row.at }] : []
  })
  return { candidates, next: rows.length < policy.syncCandidates ? undefined : rows.at(-1) }
}
