import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { User } from './entities/user.ts'
import type { Operator } from './record-audit.ts'

/** `tokenIssuedAt` in seconds. */
export type ActingCaller = { userId: string; tokenIssuedAt: number }

export type ActingAdmin = (ActingCaller & { username: string }) | Operator

type CallerState = Pick<User, 'isDeleted' | 'isAdmin' | 'passwordChangedAt'> & { secondFactorDue?: boolean | undefined }
type Needs = { admin?: boolean }
type Row = {
  is_deleted: boolean
  is_admin: boolean
  password_changed_at: string | null
  second_factor_due: boolean
}

/**
 * Locks the row for share until the transaction of `em` ends. Call it first, or last in a long transaction. Two admins
 * who act on each other may deadlock: use `transaction`. The operator always passes. Throws account_deleted,
 * token_revoked, admin_required, second_factor_setup_required. Design: invariant 1.
 */
export async function assertCallerCurrent(
  em: EntityManager,
  caller: ActingCaller | Operator,
  needs: Needs = {},
): Promise<void> {
  if (caller.userId === null) return
  const rows = await em.execute<Row[]>(
    'select is_deleted, is_admin, password_changed_at::text, second_factor_due from users where id = ? for share',
    [caller.userId],
  )
  assertCurrent(rows[0] ? stateOf(rows[0]) : null, caller, needs)
}

/**
 * A token of the same second stays valid. Throws account_deleted, token_revoked, admin_required,
 * second_factor_setup_required. Spec: Bearer tokens.
 */
export function assertCurrent<State extends CallerState>(
  state: State | null | undefined,
  caller: ActingCaller,
  { admin = false }: Needs = {},
): asserts state is State {
  if (!state || state.isDeleted) throw refuse.account_deleted()
  const changedAt = state.passwordChangedAt
  if (changedAt != null && caller.tokenIssuedAt < Math.floor(changedAt / 1000)) throw refuse.token_revoked()
  if (admin && !state.isAdmin) throw refuse.admin_required()
  if (admin && state.secondFactorDue) throw refuse.second_factor_setup_required()
}

function stateOf(row: Row): CallerState {
  const { is_deleted: isDeleted, is_admin: isAdmin, password_changed_at: changedAt } = row
  const passwordChangedAt = changedAt === null ? null : Number(changedAt)
  return { isDeleted, isAdmin, passwordChangedAt, secondFactorDue: row.second_factor_due }
}
