import { baseUsername } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { User, stubPasswordHash } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** `homeInstance` in lower case. The base of `username` counts. */
export type FederatedIdentity = { homeInstance: string; homeUserId: string | null; username: string }

/** By id at home, else by base name: accounts before stubs, none with another id. Contract: 3, the federated lookup. */
export async function findFederatedUser(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const { homeInstance, homeUserId } = identity
  if (homeUserId !== null) {
    const known = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
    if (known) return known
  }
  const [namesake] = await read<{ id: string }>(
    em,
    `select id::text as id from users
     where home_instance = ? and split_part(username, '@', 1) = ? and not is_deleted
       and (?::text is null or home_user_id is null)
     order by password_hash = ?, users.id
     limit 1`,
    [homeInstance, baseUsername(identity.username), homeUserId, stubPasswordHash],
  )
  return namesake ? await em.findOne(User, { id: namesake.id }) : null
}

/** The live account, else a tombstone. Spec: Tombstone, resolver. */
export async function findIdentity(
  em: EntityManager,
  { homeUserId, homeInstance }: { homeUserId: string; homeInstance: string },
): Promise<User | null> {
  const where = { homeUserId, homeInstance: homeInstance.toLowerCase() }
  return await em.findOne(User, where, { orderBy: { isDeleted: 'asc', id: 'desc' } })
}
