import { normalizeOrigin } from '@gatehouse/contracts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { FederationRegistry } from './entities/federation-records.ts'
import type { User } from './entities/user.ts'

/** Origins at which users name an account, by id: the own list and the clients' registry. Contract: 7, Profiles; federation-wire.md 5. */
export async function findNamedInstances(
  em: EntityManager,
  users: readonly Pick<User, 'id' | 'replicatedInstances'>[],
): Promise<Map<string, Set<string>>> {
  const registries = await em.find(FederationRegistry, { userId: { $in: users.map(({ id }) => id) } })
  const entries = new Map(registries.map((registry) => [registry.userId, registry.entries]))
  return new Map(
    users.map(({ id, replicatedInstances }) => {
      const named = [...replicatedInstances, ...(entries.get(id) ?? [])]
      return [id, new Set(named.flatMap(({ origin }) => normalizeOrigin(origin) ?? []))]
    }),
  )
}
