import { checkRevocation } from '@gatehouse/auth'
import type { Access, AccountState } from '@gatehouse/contracts'
import { commonErrors } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import type { CallerSigner } from '../proxy/route-target.ts'
import type { CachedToken, SignedCaller } from './token-cache.ts'

type Credentials = {
  authorization: string | undefined
  access: Access
  clientAddress: string
  /** Of the service that the caller is stated to. */
  signer: CallerSigner
}

/** Whether a route demands a bearer token. */
export function requiresToken(access: Access): boolean {
  return access === 'bearer' || access === 'admin'
}

/**
 * The token with a valid signature of an Authorization header; whether it still counts is for `authenticate`. Throws
 * unauthorized, invalid_token.
 */
export function verifyBearer(
  { tokenCache, clock }: Pick<Deps, 'tokenCache' | 'clock'>,
  authorization: string | undefined,
): CachedToken {
  const token = parseBearer(authorization)
  if (token === undefined) throw commonErrors.unauthorized()
  const cached = tokenCache.verifyCached(token, clock.now())
  if (!cached) throw commonErrors.invalid_token()
  return cached
}

/**
 * The caller token of the account that a bearer token belongs to, which holds at the time of the call: it is called when
 * the body has arrived. The checks run in the order of the specification: token, signature and expiry, account,
 * revocation, admin. Throws unauthorized, invalid_token, token_revoked, account_deleted, admin_required, and what finding
 * the account's state throws. Spec: Bearer tokens; Design: invariant 1.
 */
export async function authenticate(
  deps: Pick<Deps, 'accountStates' | 'tokenCache' | 'clock'>,
  { authorization, access, clientAddress, signer }: Credentials,
): Promise<SignedCaller> {
  const cached = verifyBearer(deps, authorization)
  const state = await deps.accountStates.find(cached.claims.userId)
  const status = checkRevocation(cached.claims, state)
  // An admin route answers as to an account that is no admin. Spec: Errors, stored user missing.
  if (!state || status === 'missing') {
    throw access === 'admin' ? commonErrors.admin_required() : commonErrors.invalid_token()
  }
  if (status === 'deleted') throw commonErrors.account_deleted()
  if (status === 'revoked') throw commonErrors.token_revoked()
  if (access === 'admin' && !state.isAdmin) throw commonErrors.admin_required()
  return reuseCallerToken(deps, cached, { state, clientAddress, signer })
}

function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  if (authorization.startsWith('Bearer ')) return authorization.slice(7).trim() || undefined
  return /^bearer +(\S+)$/i.exec(authorization)?.[1]
}

/** Signing is the next expensive step, so a caller token is reused for a few seconds, for the same address and state. */
function reuseCallerToken(
  { clock }: Pick<Deps, 'clock'>,
  cached: CachedToken,
  { state, clientAddress, signer }: { state: AccountState; clientAddress: string; signer: CallerSigner },
): SignedCaller {
  const now = clock.now()
  const { audience } = signer
  const last = audience === undefined ? cached.signedCaller : cached.statements?.get(audience)
  if (last && last.reuseUntil > now && last.stateVersion === state.version && last.address === clientAddress) {
    return last
  }
  const { userId, username, isAdmin } = state
  const account = { userId, username, isAdmin, tokenIssuedAt: Math.floor(cached.claims.iat) }
  const token = signer.sign({ address: clientAddress, account })
  const reuseUntil = now + policy.callerTokenReuseMs
  const signed = { token, userId, address: clientAddress, stateVersion: state.version, reuseUntil }
  if (audience === undefined) cached.signedCaller = signed
  else (cached.statements ??= new Map<string, SignedCaller>()).set(audience, signed)
  return signed
}
