import { signToken } from '@gatehouse/auth'
import { sanitizeUser, type User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

type TokenDeps = Pick<Deps, 'config' | 'tokenKey'>

/**
 * A fresh token for a user. Its time of issue is that at which the account was read (milliseconds), not that of the
 * signature: a change in between would otherwise not revoke it. Spec: Token payload.
 */
export function issueToken({ config, tokenKey }: TokenDeps, user: User, issuedAt: number): string {
  const subject = { userId: user.id, username: user.username }
  return signToken(tokenKey, subject, { expiresIn: config.jwtExpiresIn, now: issuedAt })
}

/** The reply of registration and login. Spec: register, login. */
export function credentialsReply(deps: TokenDeps, { user, issuedAt }: { user: User; issuedAt: number }) {
  return { token: issueToken(deps, user, issuedAt), user: sanitizeUser(user, true) }
}
