import { verifyToken, type TokenClaims, type TokenKey } from '@gatehouse/auth'

/** A token that proved genuine, and what was last vouched for it. */
export type KnownToken = {
  claims: TokenClaims
  statement: string
  /** What the statement says: address, version of the account, and until when it is used, in milliseconds. */
  statementAddress: string
  statementVersion: number
  statementUntil: number
}

/**
 * Verifies tokens and remembers the last ones, because verifying is the dearest part of a request. What is remembered is
 * only that we signed it; expiry is checked each time, and the account by others. Gives undefined for anything else.
 */
export function rememberTokens(
  key: TokenKey,
  capacity: number,
): (token: string, now: number) => KnownToken | undefined {
  let young = new Map<string, KnownToken>()
  let old = new Map<string, KnownToken>()

  function keep(token: string, known: KnownToken): KnownToken {
    if (young.size >= capacity / 2) {
      old = young
      young = new Map()
    }
    young.set(token, known)
    return known
  }

  return (token, now) => {
    const known = young.get(token) ?? old.get(token)
    if (known) {
      if (known.claims.exp <= Math.floor(now / 1000)) return undefined
      return young.has(token) ? known : keep(token, known)
    }
    const claims = verifyToken(key, token, now)
    if (!claims) return undefined
    return keep(token, { claims, statement: '', statementAddress: '', statementVersion: -1, statementUntil: 0 })
  }
}
