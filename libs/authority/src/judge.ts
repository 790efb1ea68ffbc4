import type { AccountState } from '@gatehouse/contracts'
import type { Operator, User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import { isIssuedBefore, isRevoked } from './state.ts'

/** `tokenIssuedAt` in seconds. */
export type ActingCaller = { userId: string; tokenIssuedAt: number }

export type ActingAdmin = (ActingCaller & { username: string }) | Operator

type CallerState = Pick<User, 'isDeleted' | 'isAdmin'> & {
  passwordChangedAt?: number | null | undefined
  secondFactorDue?: boolean | undefined
}
type Needs = { admin?: boolean }

/**
 * Locks the row for share until the transaction of `em` ends. Call it first, or last in a long transaction. Two admins
 * who act on each other may deadlock: use `transaction`. The operator always passes. Throws account_deleted,
 * token_revoked, admin_required, second_factor_setup_required. Design: invariant 1.
 */
export async function assertCallerCurrent(em: EntityManager, caller: ActingCaller | Operator, needs?: Needs) {
  if (caller.userId === null) return
  const sql = `select is_deleted as "isDeleted", is_admin as "isAdmin", second_factor_due as "secondFactorDue",
    password_changed_at::float8 as "passwordChangedAt" from users where id = ? for share`
  const [state] = await em.execute<CallerState[]>(sql, [caller.userId])
  assertCurrent(state, caller, needs)
}

/** Judges a row that is locked already. Throws as `assertCallerCurrent`. Spec: Bearer tokens. */
export function assertCurrent<State extends CallerState>(
  state: State | null | undefined,
  caller: ActingCaller,
  { admin = false }: Needs = {},
): asserts state is State {
  if (!state || state.isDeleted) throw refuse.account_deleted()
  if (isRevoked(caller.tokenIssuedAt, state)) throw refuse.token_revoked()
  if (admin && !state.isAdmin) throw refuse.admin_required()
  if (admin && state.secondFactorDue) throw refuse.second_factor_setup_required()
}

export type TokenStatus = 'live' | 'missing' | 'deleted' | 'revoked'

type TokenState = Pick<AccountState, 'isDeleted' | 'passwordChangedAt'>

/** Judges a token whose signature and expiry hold, by the state of its account. Spec: Bearer tokens, protected-route check. */
export function judgeToken({ iat }: { iat: number }, state: TokenState | undefined): TokenStatus {
  if (!state) return 'missing'
  if (state.isDeleted) return 'deleted'
  return isRevoked(iat, state) ? 'revoked' : 'live'
}

/** Whether the end of sessions at `second` ends the session whose newest token is of `iat`. A deletion ends at Infinity. */
export const isEndedBy = ({ second }: { second: number }, { iat }: { iat: number }): boolean =>
  isIssuedBefore(iat, second)
