import { baseUsername } from '@gatehouse/contracts'
import { User, stubPasswordHash } from '@gatehouse/domain'
import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Who somebody is elsewhere. `homeInstance` in lower case; `username` in any form, its base counts. */
export type FederatedIdentity = { homeInstance: string; homeUserId: string | null; username: string }

/**
 * The account or stub that already stands for an identity: by its id at home, else by its base name there, accounts
 * before stubs. Deleted ones never count, nor does by name one that is known under another id at home.
 * Contract: 3, the federated lookup.
 */
export async function findFederatedUser(em: EntityManager, identity: FederatedIdentity): Promise<User | null> {
  const { homeInstance, homeUserId } = identity
  if (homeUserId !== null) {
    const known = await em.findOne(User, { homeInstance, homeUserId, isDeleted: false })
    if (known) return known
  }
  const [namesake] = await selectRows<{ id: string }>(
    em,
    `select id from users
     where home_instance = ? and split_part(username, '@', 1) = ? and not is_deleted
       and (?::text is null or home_user_id is null)
     order by password_hash = ?, id
     limit 1`,
    [homeInstance, baseUsername(identity.username), homeUserId, stubPasswordHash],
  )
  return namesake ? await em.findOne(User, { id: String(namesake.id) }) : null
}
