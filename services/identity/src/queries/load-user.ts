import { batchById, bigintArray, prepareRead, selectRows } from '@gatehouse/database'
import { User, plainUserProperties, type PlainUser } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '@gatehouse/runtime'

const readById = batchById(
  prepareRead({
    name: 'users_by_id',
    entity: User,
    properties: plainUserProperties,
    where: 'users.id = any($1::bigint[])',
  }),
)

/** An account as it is now, outside of a transaction. Throws user_unknown. */
export async function loadUser(em: EntityManager, userId: string): Promise<PlainUser> {
  const user = await readById(em, userId)
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

/** Locks several accounts as `lockUser` does, in the order of their ids: two admins who act on each other do not deadlock. */
export async function lockInOrder(em: EntityManager, userIds: readonly string[]): Promise<void> {
  const sql = 'select id from users where id = any(?::bigint[]) order by id for no key update'
  await selectRows(em, sql, [bigintArray(userIds)])
}
