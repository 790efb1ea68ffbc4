import { baseUsername } from '@gatehouse/contracts'
import { selectRows } from '@gatehouse/database'
import { User, stubPasswordHash } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** An identity on another instance. `homeInstance` in lower case; of `username`, in any form, the base counts. */
export type FederatedIdentity = { homeInstance: string; homeUserId: string | null; username: string }

/**
 * The account or stub of an identity: by its id at home, else by its base name there, accounts before stubs. Deleted ones
 * never match, nor by name those with another id at home. Contract: 3, the federated lookup.
 */
export async function findFederatedUser(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const { homeInstance, homeUserId } = identity
  if (homeUserId !== null) {
    const known = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
    if (known) return known
  }
  const [namesake] = await selectRows<{ id: string }>(
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

/** The account of an identity by its id at home: the live one, else a tombstone of it. Spec: Tombstone, resolver. */
export async function findIdentity(
  em: EntityManager,
  { homeUserId, homeInstance }: { homeUserId: string; homeInstance: string },
): Promise<User | null> {
  const where = { homeUserId, homeInstance: homeInstance.toLowerCase() }
  return await em.findOne(User, where, { orderBy: { isDeleted: 'asc', id: 'desc' } })
}
