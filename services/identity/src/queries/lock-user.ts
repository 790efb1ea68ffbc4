import { User } from '@gatehouse/domain'
import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * Locks an account that is to be changed, null when there is none. The lock leaves room for rows elsewhere that refer to
 * the account: a group that passes to somebody who is leaving too must not wait for them.
 */
export async function lockUser(em: EntityManager, userId: string): Promise<User | null> {
  await selectRows(em, 'select id from users where id = ? for no key update', [userId])
  return await em.findOne(User, { id: userId }, { refresh: true })
}
