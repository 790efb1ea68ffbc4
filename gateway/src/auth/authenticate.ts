import { judgeToken } from '@gatehouse/authority'
import type { AccountState } from '@gatehouse/contracts'
import { invalidInput, refuse } from '@gatehouse/runtime'
import type { Deps } from '../deps.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { CallerSigner, RouteTarget } from '../http/route-target.ts'
import { policy } from '../policy.ts'
import type { CachedToken, SignedCaller } from './callers.ts'

type TokenDeps = Pick<Deps, 'tokenCache' | 'clock'>
type AuthenticateDeps = TokenDeps & Pick<Deps, 'accountStates' | 'upstreamCallers'>

/** Whether a bearer token decides who is calling. */
export function countsToken({ request }: RequestContext, { access, readsToken }: RouteTarget): boolean {
  const isRequired = access === 'bearer' || access === 'admin'
  return isRequired || (readsToken && request.headers.authorization !== undefined)
}

/** Verifies the signature only. Throws unauthorized, invalid_token. */
export function verifyBearer(deps: TokenDeps, context: RequestContext): CachedToken {
  const token = parseBearer(authorizationOf(context))
  if (token === undefined) throw refuse.unauthorized()
  const cached = deps.tokenCache.verifyCached(token, deps.clock.now())
  if (!cached) throw refuse.invalid_token()
  return cached
}

/**
 * Returns a caller token that is valid now. The order of checks is specified: token, signature and expiry, account,
 * revocation, admin. Throws unauthorized, invalid_token, token_revoked, account_deleted, admin_required and
 * second_factor_setup_required, and as the account states and a statement do. Spec: Bearer tokens; Design: invariant 1.
 */
export async function authenticate(
  deps: AuthenticateDeps,
  context: RequestContext,
  target: RouteTarget,
): Promise<SignedCaller> {
  const { clientAddress: address } = context
  const { access, signer, right } = target
  if (access === 'upstream') {
    const upstream = deps.upstreamCallers.judge(authorizationOf(context), right)
    return { token: signer.sign({ address, account: null, upstream }), userId: '', upstream: upstream.name }
  }
  if (!countsToken(context, target)) return { token: signer.sign({ address, account: null }), userId: '' }
  const cached = verifyBearer(deps, context)
  const state = await deps.accountStates.find(cached.claims.userId)
  const status = judgeToken(cached.claims, state)
  // A user without a row is 403 on admin routes and 401 elsewhere. Spec: Errors, stored user missing.
  if (!state || status === 'missing') throw access === 'admin' ? refuse.admin_required() : refuse.invalid_token()
  if (status === 'deleted') throw refuse.account_deleted()
  if (status === 'revoked') throw refuse.token_revoked()
  if (access === 'admin' && !state.isAdmin) throw refuse.admin_required()
  if (access === 'admin' && state.secondFactorDue) throw refuse.second_factor_setup_required()
  context.userId = state.userId
  return reuseCallerToken(cached, state, { address, signer, now: deps.clock.now() })
}

function authorizationOf({ request: { headers, rawHeaders } }: RequestContext): string | undefined {
  // Node keeps the first of two equal headers. A proxy may have checked the second.
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.length === 'authorization'.length && name.toLowerCase() === 'authorization') count += 1
  }
  if (count > 1) throw invalidInput({ field: 'authorization', reason: 'repeated' })
  return headers.authorization
}

function parseBearer(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  if (authorization.startsWith('Bearer ')) return authorization.slice(7).trim() || undefined
  return /^bearer +(\S+)$/i.exec(authorization)?.[1]
}

function reuseCallerToken(
  { claims, callers }: CachedToken,
  { userId, username, isAdmin, version: stateVersion }: AccountState,
  { address, signer, now }: { address: string; signer: CallerSigner; now: number },
): SignedCaller {
  const index = callers.findIndex((one) => one.signer === signer)
  const last = callers[index]
  if (last && last.reuseUntil > now && last.stateVersion === stateVersion && last.address === address) return last
  const account = { userId, username, isAdmin, tokenIssuedAt: Math.floor(claims.iat) }
  const token = signer.sign({ address, account })
  const caller = { token, userId, signer, address, stateVersion, reuseUntil: now + policy.callerTokenReuseMs }
  callers.splice(index === -1 ? callers.length : index, 1, caller)
  return caller
}
