import { Email, type PlainUser } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

type Owner = Pick<PlainUser, 'id' | 'homeInstance' | 'isDeleted'>

/** Undefined: the account cannot have one, or the instance sends no mail. Contract: 3, Mail. */
export async function loadEmail({ orm, config }: Pick<Deps, 'orm' | 'config'>, user: Owner) {
  if (!config.mail || user.homeInstance || user.isDeleted) return undefined
  const stored = await orm.em.fork().findOne(Email, { userId: user.id })
  return { email: stored?.reply ?? null, emailNotices: stored?.notices ?? true }
}
