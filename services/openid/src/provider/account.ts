import { batchedRead } from '@gatehouse/database'
import { User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { recallAccount } from './adapter.ts'

const properties = ['id', 'username', 'displayName', 'avatar', 'isDeleted', 'profileUpdatedAt'] as const
const readById = batchedRead({ name: 'openid_account', entity: User, properties, key: 'id' })

/** As the library asks for a person. `profile` gives what everybody here may see. Contract: 3, Applications. */
export function createFindAccount({ orm, config }: Pick<Deps, 'orm' | 'config'>) {
  const em = orm.em.fork()
  return async (_ctx: unknown, id: string) => {
    const user = recallAccount(id) ?? (await readById(em, id))
    if (!user || user.isDeleted) return undefined
    const { origin } = config.publicAddress
    const claims = {
      sub: id,
      name: user.displayName ?? user.username,
      preferred_username: user.username,
      ...(user.avatar && { picture: `${origin}/api/uploads/${user.avatar}` }),
      updated_at: Math.floor(user.profileUpdatedAt / 1_000),
    }
    return { accountId: id, claims: async () => claims }
  }
}

export const claimsOfScopes = {
  openid: ['sub'],
  profile: ['name', 'preferred_username', 'picture', 'updated_at'],
}
