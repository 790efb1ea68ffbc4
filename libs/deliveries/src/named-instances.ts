import { normalizeOrigin } from '@gatehouse/contracts'
import { FederationRegistry, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Origins at which users name an account, by id: the own list and the clients' registry. Contract: 7, Profiles; protocol.md 5.2. */
export async function findNamedInstances(
  em: EntityManager,
  users: readonly UserInstances[],
): Promise<Map<string, Set<string>>> {
  const registries = await em.find(FederationRegistry, { userId: { $in: users.map(({ id }) => id) } })
  const entries = new Map(registries.map((registry) => [registry.userId, registry.entries]))
  return new Map(
    users.map(({ id, replicatedInstances }) => {
      const instances = [...replicatedInstances, ...(entries.get(id) ?? [])]
      return [id, new Set(instances.flatMap(({ origin }) => normalizeOrigin(origin) ?? []))]
    }),
  )
}

/** Origins that may hold something of the account: where its user names one, and peers that asked for its profile. Contract: 7, Account states. */
export async function findHoldingInstances(em: EntityManager, user: UserInstances): Promise<Set<string>> {
  const instances = await findNamedInstances(em, [user])
  const sql = 'select origin from profile_askers where user_id = ?'
  const askers = await em.execute<{ origin: string }[]>(sql, [user.id])
  return new Set([...(instances.get(user.id) ?? []), ...askers.map(({ origin }) => origin)])
}

type UserInstances = Pick<User, 'id' | 'replicatedInstances'>

const deliveryLifetimeMs = 30 * 24 * 60 * 60 * 1000

/** `version`: in milliseconds, when what is delivered changed. */
type Queued = { userId: string; origins: ReadonlySet<string>; version: number; now: number }

/**
 * One delivery for each peer and user, of what the user is when it is sent. Each call gives another version, so that a delivery
 * under way does not end it. Returns how many peers. Contract: 7, Profiles, Account states.
 */
export async function queueDeliveries(em: EntityManager, { userId, origins, version, now }: Queued): Promise<number> {
  const sql = `insert into federation_deliveries (peer_id, user_id, version, next_attempt_at, expires_at)
    select id, ?, ?, ?, ? from peers
    where status not in ('rejected', 'revoked') and origin = any(array(select jsonb_array_elements_text(?::jsonb)))
    on conflict (peer_id, user_id) do update set version = greatest(federation_deliveries.version + 1, excluded.version),
      attempts = 0, next_attempt_at = excluded.next_attempt_at, expires_at = excluded.expires_at`
  const times = [new Date(now), new Date(now + deliveryLifetimeMs)]
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    sql,
    [userId, version, ...times, JSON.stringify([...origins])],
    'run',
  )
  return affectedRows
}
