import { checkRevocation } from '@gatehouse/auth'
import type { Access, AccountState } from '@gatehouse/contracts'
import { refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { CallerSigner } from './caller-signer.ts'
import type { CachedToken, SignedCaller } from './token-cache.ts'

type Credentials = {
  authorization: string | undefined
  access: Access
  clientAddress: string
  signer: CallerSigner
}

export function requiresToken(access: Access): boolean {
  return access === 'bearer' || access === 'admin'
}

/** Verifies the signature only. Throws unauthorized, invalid_token. */
export function verifyBearer(
  { tokenCache, clock }: Pick<Deps, 'tokenCache' | 'clock'>,
  authorization: string | undefined,
): CachedToken {
  const token = parseBearer(authorization)
  if (token === undefined) throw refuse.unauthorized()
  const cached = tokenCache.verifyCached(token, clock.now())
  if (!cached) throw refuse.invalid_token()
  return cached
}

/**
 * Returns a caller token that is valid now. The order of checks is specified: token, signature and expiry, account,
 * revocation, admin. Throws unauthorized, invalid_token, token_revoked, account_deleted, admin_required,
 * second_factor_setup_required, and errors of the account state. Spec: Bearer tokens; Design: invariant 1.
 */
export async function authenticate(
  deps: Pick<Deps, 'accountStates' | 'tokenCache' | 'clock'>,
  { authorization, access, clientAddress, signer }: Credentials,
): Promise<SignedCaller> {
  const cached = verifyBearer(deps, authorization)
  const state = await deps.accountStates.find(cached.claims.userId)
  const status = checkRevocation(cached.claims, state)
  // Spec: Errors, stored user missing.
  if (!state || status === 'missing') {
    throw access === 'admin' ? refuse.admin_required() : refuse.invalid_token()
  }
  if (status === 'deleted') throw refuse.account_deleted()
  if (status === 'revoked') throw refuse.token_revoked()
  if (access === 'admin' && !state.isAdmin) throw refuse.admin_required()
  if (access === 'admin' && state.secondFactorDue) throw refuse.second_factor_setup_required()
  return reuseCallerToken(deps, cached, { state, clientAddress, signer })
}

function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  if (authorization.startsWith('Bearer ')) return authorization.slice(7).trim() || undefined
  return /^bearer +(\S+)$/i.exec(authorization)?.[1]
}

function reuseCallerToken(
  { clock }: Pick<Deps, 'clock'>,
  cached: CachedToken,
  { state, clientAddress, signer }: { state: AccountState; clientAddress: string; signer: CallerSigner },
): SignedCaller {
  const now = clock.now()
  const { claims, callers } = cached
  const index = callers.findIndex((one) => one.signer === signer)
  const last = callers[index]
  if (last && last.reuseUntil > now && last.stateVersion === state.version && last.address === clientAddress) {
    return last
  }
  const { userId, username, isAdmin } = state
  const account = { userId, username, isAdmin, tokenIssuedAt: Math.floor(claims.iat) }
  const token = signer.sign({ address: clientAddress, account })
  const reuseUntil = now + policy.callerTokenReuseMs
  const caller = { token, userId, signer, address: clientAddress, stateVersion: state.version, reuseUntil }
  callers.splice(index === -1 ? callers.length : index, 1, caller)
  return caller
}
