import { inOneLine, isLocalUsername, isStorableText, limits } from '@gatehouse/contracts'
import type { ProviderClaims } from '@gatehouse/domain'

type Claims = Readonly<Record<string, unknown>>

const subjectMax = 255

/** An identity is told apart by it: nothing is changed to fit. OpenID Connect Core 1.0, 2. */
export function isSubject(subject: unknown): subject is string {
  const isText = typeof subject === 'string' && subject.length >= 1 && subject.length <= subjectMax
  return isText && subject.isWellFormed() && !/[\p{Cc}]/u.test(subject)
}

/** For proposals and for display alone: a name joins no accounts. Design: invariant 14. */
export function readClaims(claims: Claims, usernameClaim: string): ProviderClaims {
  const displayName = readName(claims['name'], limits.displayNameMax)
  const username = readName(claims[usernameClaim], limits.federatedUsernameMax)
  const email = readName(claims['email'], limits.federatedUsernameMax)
  return { username: proposeUsername(username), displayName, name: username ?? email ?? displayName }
}

function readName(value: unknown, max: number): string | null {
  if (typeof value !== 'string' || !isStorableText(value)) return null
  const characters = Array.from(inOneLine(value.slice(0, 4 * max)).trim())
  return characters.slice(0, max).join('').trim() || null
}

/** What stands before an `@`, in the letters of usernames here. */
function proposeUsername(name: string | null): string | null {
  const base = (name ?? '').split('@', 1)[0]?.normalize('NFKD').toLowerCase() ?? ''
  const username = base
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9_]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, limits.localUsernameMax)
  return isLocalUsername(username) ? username : null
}
