import { passwordChanged } from '@gatehouse/contracts'
import { User, accountStateOf } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { recordAccountEvent } from '../account-events.ts'

type PasswordChange = {
  userId: string
  currentPassword?: string | null | undefined
  newPassword: string
  requestId?: string | undefined
}

/**
 * Replaces the own password; every earlier token is revoked when this resolves. Of concurrent changes one succeeds.
 * `issuedAt`, in milliseconds, is the time of the change: the fresh token is issued at it, so that the next change revokes
 * it. Throws current_password_required, password_incorrect, password_changed_meanwhile, account_deleted, hashing_busy.
 * Spec: change-password 1-4.
 */
export async function changePassword(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { userId, currentPassword, newPassword, requestId }: PasswordChange,
): Promise<{ user: User; issuedAt: number }> {
  const before = await deps.orm.em.fork().findOne(User, { id: userId, isDeleted: false })
  if (!before) throw refuse.account_deleted()
  if (before.isLocal()) await verifyCurrentPassword(deps, before, currentPassword)
  const passwordHash = await deps.hasher.hash(newPassword)

  const changed = await deps.orm.em.fork().transactional(async (em) => {
    const user = await em.findOne(User, { id: userId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!user || user.isDeleted) throw refuse.account_deleted()
    refuseOutdated(before, user)
    const issuedAt = user.changePassword(passwordHash, deps.clock.now())
    await em.flush()
    await recordAccountEvent(em, deps, passwordChanged, { state: accountStateOf(user), at: issuedAt, requestId })
    return { user, issuedAt }
  })
  await deps.afterCommit.invalidateCache(accountStateOf(changed.user))
  return changed
}

async function verifyCurrentPassword(
  { hasher }: Pick<Deps, 'hasher'>,
  user: User,
  password: string | null | undefined,
): Promise<void> {
  if (password === null || password === undefined) throw refuse.current_password_required()
  if (!(await hasher.verify(password, user.passwordHash))) throw refuse.password_incorrect()
}

/**
 * Refuses when another change or a reset committed while the hashes were computed. The verified password of a local user
 * is then outdated; of a federated user, whose hash may also be refreshed from home, the token of the request is revoked.
 */
function refuseOutdated(before: User, now: User): void {
  if (before.isLocal() && now.passwordHash !== before.passwordHash) throw refuse.password_incorrect()
  if (now.passwordChangedAt !== before.passwordChangedAt) throw refuse.password_changed_meanwhile()
}
