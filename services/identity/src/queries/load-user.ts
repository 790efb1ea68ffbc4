import { selectRows } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '../errors.ts'

/** Throws user_unknown. */
export async function loadUser(em: EntityManager, userId: string): Promise<User> {
  const user = await em.findOne(User, { id: userId })
  if (!user) throw refuse.user_unknown()
  return user
}

/**
 * Locks an account that is to be changed, null when there is none. The lock admits rows elsewhere that refer to the
 * account: transferring a group to a user who is being deleted too must not wait.
 */
export async function lockUser(em: EntityManager, userId: string): Promise<User | null> {
  await selectRows(em, 'select id from users where id = ? for no key update', [userId])
  return await em.findOne(User, { id: userId }, { refresh: true })
}
