import { homeFields, lookupFields, profileFields, type syncBody, type syncReply } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { findNamedInstances } from '@gatehouse/deliveries'
import { User, type Peer } from '@gatehouse/domain'
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

/** This service cannot read the hash. See docs/decisions/database-roles.md. */
const fields = [
  ...(['id', 'username', 'status', 'profileUpdatedAt', 'createdAt', 'replicatedInstances'] as const),
  ...(['suspendedAt', 'suspensionChangedAt'] as const),
  ...new Set([...homeFields, ...lookupFields]),
] satisfies readonly (keyof User)[]

export type NativeUser = Pick<User, (typeof fields)[number]>

/** Without detached accounts: other instances may keep their identity. */
const isNative = { isDeleted: false, homeInstance: null, federationHomeOrphaned: false }

export async function listNativeUsers(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser[]> {
  return await em.find(User, { $and: [where, isNative] }, { fields })
}

export async function findNativeUser(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser | undefined> {
  const [user] = await listNativeUsers(em, where)
  return user
}

/** In the order of existing instances. protocol.md 3. */
export function profileEvent({ publicAddress: { origin } }: Deps['config'], user: NativeUser) {
  const entries = homeFields.map((field): [string, string | null] => {
    const value = user[field] ?? null
    return [field, value && profileFields[field].kind === 'picture' ? `${origin}/api/uploads/${value}` : value]
  })
  return {
    eventType: 'profile_update',
    contextType: 'profile',
    messageId: user.id,
    encryptionVersion: 0,
    timestamp: user.profileUpdatedAt,
    profileUpdate: {
      homeUserId: user.id,
      homeInstance: origin,
      profileUpdatedAt: user.profileUpdatedAt,
      username: user.username,
      ...Object.fromEntries(entries),
    },
  }
}

/** None where no suspension ever began. Contract: 7, Account states. */
export function accountStateEvents({ publicAddress: { origin } }: Deps['config'], user: NativeUser) {
  const { id: homeUserId, suspendedAt, suspensionChangedAt: ts } = user
  if (ts == null) return []
  const accountState = { homeUserId, homeInstance: origin, state: suspendedAt == null ? 'active' : 'suspended', ts }
  const kind = { eventType: 'account_state', contextType: 'profile' }
  return [{ ...kind, messageId: `${homeUserId}-${ts}`, encryptionVersion: 0, timestamp: ts, accountState }]
}

/** Only profiles are told. protocol.md 3.3. */
export async function answerSync(
  { orm, config }: Pick<Deps, 'orm' | 'config'>,
  peer: Peer,
  { sinceTimestamp, afterId, limit, contextType }: z.infer<typeof syncBody>,
): Promise<z.infer<typeof syncReply>> {
  const checkpoint = { checkpoint: sinceTimestamp, ...(afterId && { checkpointId: afterId }) }
  if (contextType !== 'profile') return { events: [], hasMore: false, ...checkpoint }
  const after = { at: Math.floor(sinceTimestamp), id: afterId ?? null }
  const { page, hasMore } = await listChangedProfiles(orm.em.fork(), peer, { after, limit })
  const last = page.at(-1)
  const events = page.map(({ user }) => profileEvent(config, user))
  return { events, hasMore, ...(last ? { checkpoint: last.at, checkpointId: last.user.id } : checkpoint) }
}

type Place = { at: number; id: string }
type Changed = { user: NativeUser; at: number }
type Wanted = { after: { at: number; id: string | null }; limit: number }

const maxId = '9223372036854775807'

/** Who names no id cannot go on between profiles of one millisecond: that page is longer than asked. */
export async function listChangedProfiles(em: EntityManager, peer: Peer, { after, limit }: Wanted) {
  const max = after.id === null ? limit + policy.syncSharedMax : limit
  const page: Changed[] = []
  let place: Place | undefined = { at: after.at, id: after.id ?? maxId }
  while (place) {
    const { candidates, next } = await listChangedAfter(em, peer, place)
    for (const changed of candidates) {
      const isShared = page.length < max && changed.at === page.at(-1)?.at
      if (page.length >= limit && !isShared) return { page, hasMore: true }
      page.push(changed)
    }
    place = next
  }
  return { page, hasMore: false }
}

/** Users who name the same host with another port are left out. */
async function listChangedAfter(em: EntityManager, { host, origin }: Peer, { at, id }: Place) {
  const rows = await read<Place>(
    em,
    `select user_id::text as id, profile_updated_at::float8 as at from replica_hosts
     where host = ? and (profile_updated_at, user_id) > (?, ?)
     order by profile_updated_at, user_id limit ?`,
    [host, at, id, policy.syncCandidates],
  )
  const users = await listNativeUsers(em, { id: { $in: rows.map((row) => row.id) } })
  const instances = await findNamedInstances(em, users)
  const userById = new Map(users.map((user) => [user.id, user]))
  // The place must stay as read: a later one would skip others.
  const candidates = rows.flatMap((row): Changed[] => {
    const user = userById.get(row.id)
    return user && instances.get(row.id)?.has(origin) ? [{ user, at: row.at }] : []
  })
  return { candidates, next: rows.length < policy.syncCandidates ? undefined : rows.at(-1) }
}
