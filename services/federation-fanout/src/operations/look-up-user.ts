import { lookupFields, type RemoteUser } from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { findNativeUser, type NativeUser } from '../queries/native-users.ts'

/** Ignores discoverability. Throws user_not_found. federation-wire.md 4, lookups. */
export async function lookUpByName({ orm }: Pick<Deps, 'orm'>, username: string): Promise<RemoteUser> {
  const user = await findNativeUser(orm.em.fork(), { username: username.trim().toLowerCase() })
  if (!user) throw refuse.user_not_found({ fields: { found: false } })
  return describe(user)
}

export async function lookUpById({ orm }: Pick<Deps, 'orm'>, id: string): Promise<RemoteUser | null> {
  if (!/^[0-9]{1,19}$/.test(id) || BigInt(id) > 9_223_372_036_854_775_807n) return null
  const user = await findNativeUser(orm.em.fork(), { id })
  return user ? describe(user) : null
}

function describe(user: NativeUser): RemoteUser {
  const fields = Object.fromEntries(lookupFields.map((field) => [field, user[field] ?? null]))
  const profile = { ...fields, status: user.status } as RemoteUser['profile']
  return { homeUserId: user.id, username: user.username, profile }
}
