import { User } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse } from '../../errors.ts'

/**
 * Whether a password is the user's own by the local hash: a federated user's home is not asked. Throws account_deleted,
 * hashing_busy. Contract: 3, verify-password.
 */
export async function verifyPassword(
  { orm, hasher }: Pick<Deps, 'orm' | 'hasher'>,
  { userId, password }: { userId: string; password: string },
): Promise<boolean> {
  const user = await orm.em.fork().findOne(User, { id: userId, isDeleted: false })
  if (!user) throw refuse.account_deleted()
  return await hasher.verify(password, user.passwordHash)
}
