import { User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

const fields = ['id', 'username', 'displayName', 'avatar', 'isDeleted', 'profileUpdatedAt'] as const

/** As the library asks for a person. `profile` gives what everybody here may see. Contract: 3, Applications. */
export function createFindAccount({ orm, config }: Pick<Deps, 'orm' | 'config'>) {
  return async (_ctx: unknown, id: string) => {
    const user = await orm.em.fork().findOne(User, { id, isDeleted: false }, { fields })
    if (!user) return undefined
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
