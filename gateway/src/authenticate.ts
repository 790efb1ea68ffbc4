import type { Access, AccountState } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import { judgeToken, signCaller, type Caller } from '@gatehouse/auth'
import type { Deps } from './deps.ts'
import { policy } from './policy.ts'
import type { KnownToken } from './remembered-tokens.ts'

type Needs = Pick<Deps, 'accountStates' | 'findToken' | 'clock' | 'callerKey'>

/** Whether a route lets in only bearers of a token. */
export function needsToken(access: Access): boolean {
  return access === 'bearer' || access === 'admin'
}

/**
 * The signed statement of the account that a token speaks for, in the order of the specification: token, signature and
 * expiry, account, revocation, admin. Throws unauthorized, invalid_token, token_revoked, account_deleted,
 * admin_required, and what finding the account throws. Spec: Bearer tokens.
 */
export async function authenticate(
  deps: Needs,
  given: { authorization: string | undefined; access: Access; address: string },
): Promise<string> {
  const token = bearerOf(given.authorization)
  if (token === undefined) throw commonErrors.unauthorized()
  const known = deps.findToken(token, deps.clock.now())
  if (!known) throw commonErrors.invalid_token()
  const state = await deps.accountStates.find(known.claims.userId)
  const judgement = judgeToken(known.claims, state)
  if (!state || judgement === 'missing') throw commonErrors.invalid_token()
  if (judgement === 'deleted') throw commonErrors.account_deleted()
  if (judgement === 'revoked') throw commonErrors.token_revoked()
  if (given.access === 'admin' && !state.isAdmin) throw commonErrors.admin_required()
  return vouchFor(deps, { known, state, address: given.address })
}

function bearerOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  if (authorization.startsWith('Bearer ')) return authorization.slice(7).trim() || undefined
  return /^bearer +(\S+)$/i.exec(authorization)?.[1]
}

type Vouched = { known: KnownToken; state: AccountState; address: string }

/** Signing costs more than all else here, so a statement serves for a few seconds while nothing it says has changed. */
function vouchFor(deps: Pick<Deps, 'callerKey' | 'clock'>, { known, state, address }: Vouched): string {
  const now = deps.clock.now()
  const isCurrent = known.statementUntil > now && known.statementVersion === state.version
  if (isCurrent && known.statementAddress === address) return known.statement
  const { userId, username, isAdmin } = state
  known.statement = vouch(deps, { address, account: { userId, username, isAdmin } })
  known.statementAddress = address
  known.statementVersion = state.version
  known.statementUntil = now + policy.statementMs
  return known.statement
}

/** What services are told of a caller. Design: invariant 6. */
export function vouch({ callerKey, clock }: Pick<Deps, 'callerKey' | 'clock'>, caller: Caller): string {
  return signCaller(callerKey, caller, clock.now())
}
