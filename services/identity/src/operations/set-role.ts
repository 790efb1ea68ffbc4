import { accountStateOf, recordAudit, type User } from '@gatehouse/domain'
import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { lockUser } from '../queries/lock-user.ts'
import { enqueueAccountChange, settleAccountChange } from './account-change.ts'

type Input = {
  userId: string
  isAdmin: boolean
  actor: { userId: string; username: string }
  requestId?: string | undefined
}
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'announcer' | 'relay'>

/**
 * Makes an account an admin or no longer one; asking for what is so already changes nothing. Throws user_unknown,
 * target_deleted, target_is_stub, last_admin. Contract: 5, role.
 */
export async function setRole(deps: Needs, { userId, isAdmin, actor, requestId }: Input): Promise<User> {
  const { user, changed } = await deps.orm.em.fork().transactional(async (em) => {
    const admins = await lockAdmins(em)
    const target = changeable(await lockUser(em, userId))
    if (target.isAdmin === isAdmin) return { user: target, changed: false }
    if (!isAdmin && admins.length === 1) throw refuse.last_admin()
    target.isAdmin = isAdmin
    target.stateVersion += 1
    const action = isAdmin ? 'user.promoted' : 'user.demoted'
    recordAudit(em, { action, actor, target: { type: 'user', id: userId }, at: new Date(deps.clock.now()) })
    await em.flush()
    await enqueueAccountChange(em, deps, { state: accountStateOf(target), requestId })
    return { user: target, changed: true }
  })
  if (changed) await settleAccountChange(deps, accountStateOf(user))
  return user
}

/** All of them, in order: of admins who demote each other, one waits and then sees who is left. */
async function lockAdmins(em: EntityManager): Promise<unknown[]> {
  return await selectRows(em, 'select id from users where is_admin order by id for no key update')
}

/** A stub cannot log in: as the only admin it would leave the instance without one. */
function changeable(user: User | null): User {
  if (!user) throw refuse.user_unknown()
  if (user.isDeleted) throw refuse.target_deleted()
  if (user.isStub()) throw refuse.target_is_stub()
  return user
}
