import { isLocalUsername } from '@gatehouse/contracts'
import { stubPasswordHash } from '@gatehouse/domain'
import type { ImportContext } from './context.ts'

export type User = Record<string, unknown> & {
  id: string
  username: string
  password_hash: string
  is_admin: boolean
  is_deleted: boolean
  home_instance: string | null
  home_user_id: string | null
  created: number
  isExact: boolean
}

/**
 * Names are unique when folded: the one that was written so keeps it, others get a suffix. `users` are all that want one of these
 * names; a suffix makes none that another account has.
 */
export function settleNames({ report }: ImportContext, users: User[], isTaken: (name: string) => boolean): void {
  const assignedNames = new Set<string>()
  /** The next one to try, by wanted name: many may want the same. */
  const suffixes = new Map<string, number>()
  const rank = ({ is_deleted, isExact }: User) => (is_deleted ? 2 : 0) + (isExact ? 1 : 0)
  for (const user of users.toSorted((a, b) => rank(b) - rank(a))) {
    const [, base = '', domain = ''] = /^([^@]*)(@.*)?$/s.exec(user.username) ?? []
    const preferredName = user.username
    const isFree = (name: string) => !assignedNames.has(name) && (name === preferredName || !isTaken(name))
    for (let suffix = suffixes.get(preferredName) ?? 1; !isFree(user.username); suffix += 1) {
      user.username = `${base}_${suffix}${domain}`
      suffixes.set(preferredName, suffix + 1)
    }
    assignedNames.add(user.username)
    if (user.username !== preferredName)
      report.tell(
        'users',
        user.id,
        `its name ${preferredName} belongs to another account: the name is now ${user.username}`,
      )
    else if (!user.is_deleted && !user.isExact)
      report.tell('users', user.id, `its name is ${preferredName} now, as names are stored`)
    const isLocal = !user.is_deleted && user.home_instance === null && !user.former_home_instance
    if (isLocal && !isLocalUsername(user.username))
      report.tell('users', user.id, 'registration would reject this name, but the user can log in')
  }
}

/** Of live accounts of one identity, all in `users`, the account keeps it before a stub, then the older one. */
export function settleIdentities({ report }: ImportContext, users: User[]): void {
  const identities = new Set<string>()
  const inOrder = users
    .filter((user) => !user.is_deleted && user.home_user_id !== null)
    .toSorted((a, b) => Number(isStub(a)) - Number(isStub(b)) || a.created - b.created)
  for (const user of inOrder) {
    const identity = identityOf(user)
    if (identities.has(identity)) {
      user.home_user_id = null
      report.tell('users', user.id, 'another account already has this homeUserId, so it was not imported (name kept)')
    }
    identities.add(identity)
  }
}

export const identityOf = ({ home_instance, home_user_id }: Pick<User, 'home_instance' | 'home_user_id'>): string =>
  `${home_instance} ${home_user_id}`

const isStub = (user: User): boolean => user.password_hash === stubPasswordHash
