import type { Interaction, User } from '@gatehouse/client'
import { routes } from '@gatehouse/client/routes'

/** What stands behind the `#` of /authorize. Null: nothing that leads anywhere. */
export type AskedPage =
  { kind: 'interaction'; uid: string } | { kind: 'logout' } | { kind: 'error'; code: string } | null

export function readAsked(hash: string): AskedPage {
  const text = hash.replace(/^#/, '')
  if (/^[\w-]{1,64}$/.test(text)) return { kind: 'interaction', uid: text }
  const read = new URLSearchParams(text)
  const code = read.get('error')
  if (read.get('logout') === 'done') return { kind: 'logout' }
  return code ? { kind: 'error', code } : null
}

/** The login page, which leads back here. */
export const loginThatReturns = ({ pathname, search, hash }: Pick<Location, 'pathname' | 'search' | 'hash'>): string =>
  `${routes.login}?${new URLSearchParams({ redirect: pathname + search + hash })}`

/** Whether the application asks for somebody else than who is logged in. OpenID Connect Core, 3.1.2.1, login_hint. */
export function isOfAnother({ loginHint }: Pick<Interaction, 'loginHint'>, { id, username }: User): boolean {
  const hinted = loginHint?.trim().replace(/^@/, '').toLowerCase()
  return hinted ? hinted !== username && hinted !== id : false
}
