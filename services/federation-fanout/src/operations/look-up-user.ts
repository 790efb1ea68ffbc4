import type { RemoteUser } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { findNativeUser, type NativeUser } from '../queries/native-users.ts'

/** A native live user by the name here, discoverable or not. Throws user_not_found. federation-wire.md 4, lookups. */
export async function lookUpByName({ orm }: Pick<Deps, 'orm'>, username: string): Promise<RemoteUser> {
  const user = await findNativeUser(orm.em.fork(), { username: username.trim().toLowerCase() })
  if (!user) throw refuse.user_not_found({ fields: notFound })
  return describe(user)
}

/** The same by the id here, which is the homeUserId elsewhere; null when there is none. */
export async function lookUpById({ orm }: Pick<Deps, 'orm'>, id: string): Promise<RemoteUser | null> {
  if (!/^[0-9]{1,19}$/.test(id) || BigInt(id) > 9_223_372_036_854_775_807n) return null
  const user = await findNativeUser(orm.em.fork(), { id })
  return user ? describe(user) : null
}

const notFound = { found: false, code: 'user_not_found' }

/** Pictures are bare file names, under `/api/uploads/` of this origin. */
function describe(user: NativeUser): RemoteUser {
  const { displayName = null, avatar = null, avatarColor = null, banner = null, bio = null, status } = user
  const profile = { displayName, avatar, avatarColor, banner, bio, status }
  return { homeUserId: user.id, username: user.username, profile }
}
