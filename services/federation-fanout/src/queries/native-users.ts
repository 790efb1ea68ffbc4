import { homeFields, lookupFields, profileFields } from '@gatehouse/contracts'
import { FederationRegistry, User } from '@gatehouse/domain'
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql'
import type { FederationFanoutConfig } from '../config.ts'
import { normalizeSignedOrigin } from '../peers/signature.ts'

/** This service cannot read the hash. See docs/decisions/database-roles.md. */
const fields = [
  ...(['id', 'username', 'status', 'profileUpdatedAt', 'createdAt', 'replicatedInstances'] as const),
  ...new Set([...homeFields, ...lookupFields]),
] satisfies readonly (keyof User)[]

export type NativeUser = Pick<User, (typeof fields)[number]>

/** Without detached accounts: other instances may keep their identity. */
export const isNative = { isDeleted: false, homeInstance: null, federationHomeOrphaned: false }

export async function listNativeUsers(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser[]> {
  return await em.find(User, { $and: [where, isNative] }, { fields })
}

export async function findNativeUser(em: EntityManager, where: FilterQuery<User>): Promise<NativeUser | undefined> {
  const [user] = await listNativeUsers(em, where)
  return user
}

/** The own list and the clients' registry. Contract: 7, profiles; federation-wire.md 5. */
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

/** In the order of existing instances. federation-wire.md 3. */
export function profileEvent(
  { publicAddress: { origin } }: Pick<FederationFanoutConfig, 'publicAddress'>,
  user: NativeUser,
) {
  const told = homeFields.map((field): [string, string | null] => {
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
      ...Object.fromEntries(told),
    },
  }
}
