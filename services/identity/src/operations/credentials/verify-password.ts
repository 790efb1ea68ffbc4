import type { ActingCaller, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'

type Attempt = {
  password: unknown
  address: string
  missing?: 'password_required' | 'current_password_required'
  wrong?: 'password_incorrect' | 'current_password_incorrect' | 'account_deletion_password_incorrect'
}

/** A federated account needs none. Throws `missing`, `wrong`, hashing_busy. Contract: 3, change-password and deletion. */
export async function verifyOwnPassword(
  { hasher }: Pick<Deps, 'hasher'>,
  user: User,
  { password, address, missing = 'password_required', wrong = 'password_incorrect' }: Attempt,
): Promise<void> {
  if (!user.isLocal()) return
  if (typeof password !== 'string' || password === '') throw refuse[missing]()
  if (!(await hasher.verify(password, user.passwordHash, address))) throw refuse[wrong]()
}

/**
 * Compares with the local hash only. A token that is revoked meanwhile learns nothing. Throws account_deleted,
 * token_revoked, hashing_busy. Contract: 3, verify-password.
 */
export async function verifyPassword(
  deps: Pick<Deps, 'orm' | 'hasher'>,
  { caller, password, address }: { caller: ActingCaller; password: string; address: string },
): Promise<boolean> {
  const { passwordHash } = await loadCaller(deps, caller)
  const valid = await deps.hasher.verify(password, passwordHash, address)
  await loadCaller(deps, caller)
  return valid
}
