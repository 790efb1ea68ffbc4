import { sanitizeUser, type User } from '@gatehouse/domain'
import { signToken } from '@gatehouse/auth'
import type { Deps } from '../deps.ts'

type Needs = Pick<Deps, 'config' | 'tokenKey'>

/**
 * A fresh token for a user, born at `issuedAt` (milliseconds): the moment at which the account was seen as it should be,
 * not that of the signing, or else a change in between would not end the token. Spec: Token payload.
 */
export function issueToken({ config, tokenKey }: Needs, user: User, issuedAt: number): string {
  const subject = { userId: user.id, username: user.username }
  return signToken(tokenKey, subject, { expiresIn: config.jwtExpiresIn, now: issuedAt })
}

/** What registration and login answer. Spec: register, login. */
export function credentialsReply(deps: Needs, { user, issuedAt }: { user: User; issuedAt: number }) {
  return { token: issueToken(deps, user, issuedAt), user: sanitizeUser(user, true) }
}
