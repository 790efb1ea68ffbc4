import { signToken } from '@gatehouse/auth'
import { sanitizeUser, type User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

type TokenDeps = Pick<Deps, 'config' | 'tokenKey'>

/** `issuedAt` (ms) is when the account was read: a change since revokes the token. Spec: Token payload. */
export function issueToken({ config, tokenKey }: TokenDeps, user: User, issuedAt: number): string {
  const subject = { userId: user.id, username: user.username }
  return signToken(tokenKey, subject, { expiresIn: config.jwtExpiresIn, now: issuedAt })
}

/** Spec: register, login. */
export function credentialsReply(deps: TokenDeps, { user, issuedAt }: { user: User; issuedAt: number }) {
  return { token: issueToken(deps, user, issuedAt), user: sanitizeUser(user, true) }
}
