import { User, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'

/**
 * Whether a password is the user's own by the local hash: a federated user's home is not asked. The caller is
 * judged again afterwards: a revoked token learns nothing. Throws account_deleted, token_revoked, hashing_busy. Contract: 3, verify-password.
 */
export async function verifyPassword(
  { orm, hasher }: Pick<Deps, 'orm' | 'hasher'>,
  { caller, password, address }: { caller: ActingCaller; password: string; address: string },
): Promise<boolean> {
  const load = async () => await orm.em.fork().findOne(User, { id: caller.userId })
  const user = await load()
  assertCurrent(user, caller)
  const valid = await hasher.verify(password, user.passwordHash, address)
  assertCurrent(await load(), caller)
  return valid
}
