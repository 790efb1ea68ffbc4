import { FederationRegistry, User } from '@gatehouse/domain'
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql'
import { normalizeSignedOrigin } from '../peers/signature.ts'

/** What may be told of a user; the hash is none of it, and this service cannot read it. See docs/decisions/database-roles.md. */
const fields = [
  ...['id', 'username', 'displayName', 'avatar', 'banner', 'bio', 'accentColor', 'avatarColor', 'status'],
  ...['profileUpdatedAt', 'replicatedInstances'],
] as const satisfies readonly (keyof User)[]

export type NativeUser = Pick<User, (typeof fields)[number]>

/** Live users of this instance from the start: other instances may keep the identity of a detached one. */
export const isNative = { isDeleted: false, homeInstance: null, federationHomeOrphaned: false }

export async function listNativeUsers(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser[]> {
  return await em.find(User, { $and: [where, isNative] }, { fields })
}

export async function findNativeUser(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser | undefined> {
  const [user] = await listNativeUsers(em, where)
  return user
}

/**
 * The origins on which each of these users has an account: those of the own list, and those that the clients have connected
 * to, as long as the registry names them. Contract: 7, profiles; federation-wire.md 5.
 */
export async function findInstances(
  em: EntityManager,
  users: readonly NativeUser[],
): Promise<Map<string, Set<string>>> {
  const registries = await em.find(FederationRegistry, { userId: { $in: users.map(({ id }) => id) } })
  const entries = new Map(registries.map((registry) => [registry.userId, registry.entries]))
  return new Map(
    users.map(({ id, replicatedInstances }) => {
      const named = [...replicatedInstances, ...(entries.get(id) ?? [])]
      return [id, new Set(named.flatMap(({ origin }) => normalizeSignedOrigin(origin) ?? []))]
    }),
  )
}
