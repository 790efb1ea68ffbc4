import type { AccountState } from '@gatehouse/contracts'
import type { TokenClaims } from './bearer-token.ts'

export type TokenStatus = 'live' | 'missing' | 'deleted' | 'revoked'

/** A token issued in the second of the change stays valid. Spec: Bearer tokens, protected-route check. */
export function checkRevocation(claims: Pick<TokenClaims, 'iat'>, state: AccountState | undefined): TokenStatus {
  if (!state) return 'missing'
  if (state.isDeleted) return 'deleted'
  if (state.passwordChangedAt !== null && claims.iat < Math.floor(state.passwordChangedAt / 1000)) return 'revoked'
  return 'live'
}
