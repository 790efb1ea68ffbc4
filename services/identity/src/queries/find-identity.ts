import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

type Identity = { homeUserId: string; homeInstance: string }

/** The account of an identity of another instance: the live one, else a tombstone of it. Spec: Tombstone, resolver. */
export async function findIdentity(em: EntityManager, { homeUserId, homeInstance }: Identity): Promise<User | null> {
  const where = { homeUserId, homeInstance: homeInstance.toLowerCase() }
  return await em.findOne(User, where, { orderBy: { isDeleted: 'asc', id: 'desc' } })
}
