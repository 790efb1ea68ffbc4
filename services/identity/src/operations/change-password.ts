import { User, accountStateOf } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { enqueueAccountChange, settleAccountChange } from './account-change.ts'

type Input = {
  userId: string
  currentPassword?: string | null | undefined
  newPassword: string
  requestId?: string | undefined
}
type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'hasher' | 'announcer' | 'relay'>

/**
 * Replaces the own password; every earlier token is dead when this resolves. Of several at once, one wins. `issuedAt`, in
 * milliseconds, is the birth of the fresh token: that of the change, so that the next change ends it. Throws
 * current_password_required, password_incorrect, password_changed_meanwhile, account_deleted, hashing_busy.
 * Spec: change-password 1-4.
 */
export async function changePassword(deps: Needs, input: Input): Promise<{ user: User; issuedAt: number }> {
  const before = await deps.orm.em.fork().findOne(User, { id: input.userId, isDeleted: false })
  if (!before) throw refuse.account_deleted()
  if (before.isLocal()) await proveCurrentPassword(deps, before, input.currentPassword)
  const passwordHash = await deps.hasher.hash(input.newPassword)

  const changed = await deps.orm.em.fork().transactional(async (em) => {
    const user = await em.findOne(User, { id: input.userId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!user || user.isDeleted) throw refuse.account_deleted()
    refuseIfOvertaken(before, user)
    const issuedAt = user.changePassword(passwordHash, deps.clock.now())
    await em.flush()
    await enqueueAccountChange(em, deps, { state: accountStateOf(user), requestId: input.requestId })
    return { user, issuedAt }
  })
  await settleAccountChange(deps, accountStateOf(changed.user))
  return changed
}

async function proveCurrentPassword(deps: Pick<Deps, 'hasher'>, user: User, password: string | null | undefined) {
  if (password === null || password === undefined) throw refuse.current_password_required()
  if (!(await deps.hasher.verify(password, user.passwordHash))) throw refuse.password_incorrect()
}

/**
 * Another change or a reset committed while this one hashed. What a local user proved is then no longer the password; of a
 * federated user, whose hash may also be repaired meanwhile, the token that came with the request has been revoked.
 */
function refuseIfOvertaken(before: User, now: User): void {
  if (before.isLocal() && now.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
  if (now.passwordChangedAt !== before.passwordChangedAt) throw refuse.password_changed_meanwhile()
}
