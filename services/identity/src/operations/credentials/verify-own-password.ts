import type { User } from '@gatehouse/domain'
import type { Deps } from '../../deps.ts'
import { refuse } from '../../errors.ts'

type Attempt = { password: unknown; address: string; missing?: typeof refuse.password_required }

/**
 * Verifies the password of a local account that acts; a federated one needs none. Throws `missing` (password_required
 * unless told) for an absent or empty one, or what is no text, password_incorrect, hashing_busy. Contract: 3, change-password and deletion.
 */
export async function verifyOwnPassword(
  { hasher }: Pick<Deps, 'hasher'>,
  user: User,
  { password, address, missing = refuse.password_required }: Attempt,
): Promise<void> {
  if (typeof password !== 'string' || password === '') throw missing()
  if (!(await hasher.verify(password, user.passwordHash, address))) throw refuse.password_incorrect()
}
