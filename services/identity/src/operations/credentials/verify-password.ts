import type { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { loadCaller } from '../../queries/load-user.ts'
import { changeSelf, type OwnAct } from '../change-account.ts'
import { requireConfirmation, takeConfirmation } from '../../providers/tickets.ts'
import { comparedHash } from './log-in.ts'

/** A ticket of a sign-in at a provider stands in place of the password. */
type ConfirmationInput = { password?: unknown; ticket?: unknown; address: string }

type Attempt = ConfirmationInput & {
  missing?: 'password_required' | 'current_password_required'
  wrong?: 'password_incorrect' | 'current_password_incorrect' | 'account_deletion_password_incorrect'
}

type ConfirmDeps = Pick<Deps, 'orm' | 'hasher' | 'databaseTime'>

/** Judges again under the account's lock, in the transaction of the act: it uses a ticket up. Throws as `verifyOwnPassword`. */
export type Confirm = (user: User, em: EntityManager) => Promise<void>

/**
 * Call what it returns in the transaction of the act. A federated account needs none. Throws `missing`, `wrong`, hashing_busy,
 * ticket_refused, fresh_sign_in_required. Contract: 3, Confirmation by password, Identity providers.
 */
export async function verifyOwnPassword(
  deps: ConfirmDeps,
  user: User,
  { password, ticket, address, missing = 'password_required', wrong = 'password_incorrect' }: Attempt,
): Promise<Confirm> {
  if (!user.isLocal()) return async () => undefined
  if (isGiven(ticket)) {
    return async (now, em) => await takeConfirmation(deps, em, { user: now, ticket })
  }
  if (typeof password !== 'string' || password === '') throw refuse[missing]()
  if (!(await deps.hasher.verify(password, comparedHash(user), address))) throw refuse[wrong]()
  return async (now) => {
    if (now.passwordHash !== user.passwordHash) throw refuse[wrong]()
  }
}

const isGiven = (ticket: unknown) => ticket !== undefined && ticket !== null

/** By the own password, or by a ticket. */
export type Confirmed = OwnAct & ConfirmationInput

/** A change that the own password confirms, if it is still the same, or a ticket. `judge` may refuse before and under the lock. */
export async function changeConfirmed<T>(
  deps: ConfirmDeps,
  { caller, judge, ...confirmation }: Confirmed & { judge?: (user: User) => void },
  change: (user: User, em: EntityManager) => Promise<T>,
): Promise<T> {
  const before = await loadCaller(deps, caller)
  judge?.(before)
  const confirm = await verifyOwnPassword(deps, before, confirmation)
  return await changeSelf(deps, caller, async (user, em) => {
    judge?.(user)
    await confirm(user, em)
    return await change(user, em)
  })
}

/**
 * Compares with the local hash only, and uses no ticket up. A token that is revoked meanwhile learns nothing. Throws
 * password_required, hashing_busy, ticket_refused, fresh_sign_in_required. Contract: 3, verify-password.
 */
export async function verifyPassword(deps: ConfirmDeps, { caller, password, ticket, address }: Confirmed) {
  const user = await loadCaller(deps, caller)
  if (isGiven(ticket)) {
    await requireConfirmation(deps, deps.orm.em.fork(), { user, ticket })
    return { valid: true }
  }
  if (typeof password !== 'string') throw refuse.password_required()
  const valid = await deps.hasher.verify(password, comparedHash(user), address)
  await loadCaller(deps, caller)
  return { valid }
}
