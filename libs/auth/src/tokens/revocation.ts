import type { AccountState } from '@gatehouse/contracts'
import type { TokenClaims } from './bearer-token.ts'

export type Judgement = 'live' | 'missing' | 'deleted' | 'revoked'

/**
 * Whether a verified token still counts for its account. The change is known in milliseconds and the token's birth in
 * seconds, so a token of the very second of the change lives on. Spec: Bearer tokens, protected-route check.
 */
export function judgeToken(claims: Pick<TokenClaims, 'iat'>, state: AccountState | undefined): Judgement {
  if (!state) return 'missing'
  if (state.isDeleted) return 'deleted'
  if (state.passwordChangedAt !== null && claims.iat < Math.floor(state.passwordChangedAt / 1000)) return 'revoked'
  return 'live'
}
