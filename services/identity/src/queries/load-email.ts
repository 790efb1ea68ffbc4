import { Email, type PlainUser } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

type EmailDeps = Pick<Deps, 'orm' | 'config'>
type Owner = Pick<PlainUser, 'id' | 'homeInstance' | 'isDeleted'>

/** Null: none that can have one, or the instance sends no mail. */
const findEmail = async ({ orm, config }: EmailDeps, { id: userId, homeInstance, isDeleted }: Owner) =>
  config.mail && !homeInstance && !isDeleted ? { email: await orm.em.fork().findOne(Email, { userId }) } : null

/** Of the own account. Contract: 3, Mail. */
export async function loadOwnEmail(deps: EmailDeps, user: Owner) {
  const found = await findEmail(deps, user)
  return found && { email: found.email?.reply ?? null, emailNotices: found.email?.notices ?? true }
}

/** For an admin. */
export async function loadEmailOfUser(deps: EmailDeps, user: Owner) {
  const found = await findEmail(deps, user)
  return found && { email: found.email?.reply ?? null }
}
