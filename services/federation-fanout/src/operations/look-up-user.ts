import { User } from '@gatehouse/domain'
import type { RemoteUser } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'

/** A native live user by the name here, discoverable or not. Throws user_not_found. federation-wire.md 4, lookups. */
export async function lookUpByName({ orm }: Pick<Deps, 'orm'>, username: string): Promise<RemoteUser> {
  const user = await orm.em.fork().findOne(User, { username: username.trim().toLowerCase(), ...native })
  if (!user?.isNative()) throw refuse.user_not_found({ fields: notFound })
  return describe(user)
}

/** The same by the id here, which is the homeUserId elsewhere; null when there is none. */
export async function lookUpById({ orm }: Pick<Deps, 'orm'>, id: string): Promise<RemoteUser | null> {
  if (!/^[0-9]{1,19}$/.test(id) || BigInt(id) > 9_223_372_036_854_775_807n) return null
  const user = await orm.em.fork().findOne(User, { id, ...native })
  return user?.isNative() ? describe(user) : null
}

const native = { isDeleted: false, homeInstance: null }
const notFound = { found: false, code: 'user_not_found' }

/** Pictures are bare file names, under `/api/uploads/` of this origin. */
function describe(user: User): RemoteUser {
  const { displayName = null, avatar = null, avatarColor = null, banner = null, bio = null, status } = user
  const profile = { displayName, avatar, avatarColor, banner, bio, status }
  return { homeUserId: user.id, username: user.username, profile }
}
