import type { User } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'

type Attempt = {
  password: unknown
  address: string
  missing?: 'password_required' | 'current_password_required'
  wrong?: 'password_incorrect' | 'current_password_incorrect' | 'account_deletion_password_incorrect'
}

/**
 * Verifies the password of a local account that acts; a federated one needs none. Throws `missing` for an
 * absent or empty one, or what is no text, `wrong`, hashing_busy. Contract: 3, change-password and deletion.
 */
export async function verifyOwnPassword(
  { hasher }: Pick<Deps, 'hasher'>,
  user: User,
  { password, address, missing = 'password_required', wrong = 'password_incorrect' }: Attempt,
): Promise<void> {
  if (typeof password !== 'string' || password === '') throw refuse[missing]()
  if (!(await hasher.verify(password, user.passwordHash, address))) throw refuse[wrong]()
}
