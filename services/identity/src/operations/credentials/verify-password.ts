import type { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, type OwnAct } from '../change-account.ts'

type Attempt = {
  password: unknown
  address: string
  missing?: 'password_required' | 'current_password_required'
  wrong?: 'password_incorrect' | 'current_password_incorrect' | 'account_deletion_password_incorrect'
}

/** A federated account needs none. Throws `missing`, `wrong`, hashing_busy. Contract: 3, Confirmation by password. */
export async function verifyOwnPassword(
  { hasher }: Pick<Deps, 'hasher'>,
  user: User,
  { password, address, missing = 'password_required', wrong = 'password_incorrect' }: Attempt,
): Promise<void> {
  if (!user.isLocal()) return
  if (typeof password !== 'string' || password === '') throw refuse[missing]()
  if (!(await hasher.verify(password, user.passwordHash, address))) throw refuse[wrong]()
}

/** By the own password. */
export type Confirmed = OwnAct & { address: string; password?: unknown }

/** A change that the own password confirms, if it is still the same. `judge` may refuse before and under the lock. */
export async function changeConfirmed<T>(
  deps: Pick<Deps, 'orm' | 'hasher'>,
  { caller, address, password, judge }: Confirmed & { judge?: (user: User) => void },
  change: (user: User, em: EntityManager) => Promise<T>,
): Promise<T> {
  const before = await loadCaller(deps, caller)
  judge?.(before)
  await verifyOwnPassword(deps, before, { password, address })
  return await changeSelf(deps, caller, async (user, em) => {
    judge?.(user)
    if (before.isLocal() && user.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
    return await change(user, em)
  })
}

/** Compares with the local hash only. A token that is revoked meanwhile learns nothing. Contract: 3, verify-password. */
export async function verifyPassword(deps: Pick<Deps, 'orm' | 'hasher'>, given: Confirmed & { password: string }) {
  const { caller, password, address } = given
  const { passwordHash } = await loadCaller(deps, caller)
  const valid = await deps.hasher.verify(password, passwordHash, address)
  await loadCaller(deps, caller)
  return { valid }
}
