import { passwordChanged } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { User, accountStateOf, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { recordAccountEvent } from '../account-events.ts'
import { verifyOwnPassword } from './verify-own-password.ts'

type PasswordChange = {
  caller: ActingCaller
  /** The client's, for its share of the hashing queue. */
  address: string
  currentPassword?: unknown
  newPassword: string
  requestId?: string | undefined
}

/**
 * Replaces the own password; every earlier token is revoked when this resolves. Of concurrent changes one succeeds.
 * `issuedAt`, in milliseconds, is the time of the change: the fresh token is issued at it, so that the next change revokes
 * it. Throws current_password_required, current_password_incorrect, password_changed_meanwhile, account_deleted, token_revoked,
 * hashing_busy.
 * Spec: change-password 1-4.
 */
export async function changePassword(
  deps: OperationContext & Pick<Deps, 'hasher' | 'afterCommit'>,
  { caller, address, currentPassword, newPassword, requestId }: PasswordChange,
): Promise<{ user: User; issuedAt: number }> {
  const { userId } = caller
  const before = await deps.orm.em.fork().findOne(User, { id: userId })
  assertCurrent(before, caller)
  if (before.isLocal()) {
    await verifyOwnPassword(deps, before, {
      password: currentPassword,
      address,
      missing: 'current_password_required',
      wrong: 'current_password_incorrect',
    })
  }
  const passwordHash = await deps.hasher.hash(newPassword, address)

  const change = async (em: EntityManager) => {
    const user = await em.findOne(User, { id: userId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    assertCurrent(user, caller)
    refuseOutdated(before, user)
    const issuedAt = user.changePassword(passwordHash, await deps.databaseTime(em))
    await em.flush()
    await recordAccountEvent(em, deps, passwordChanged, { state: accountStateOf(user), at: issuedAt, requestId })
    return { user, issuedAt }
  }
  const changed = await runTransaction(deps.orm, change, { accountId: userId })
  await deps.afterCommit.invalidateCache(accountStateOf(changed.user))
  return changed
}

/**
 * Refuses when another change or a reset committed while the hashes were computed. The verified password of a local user
 * is then outdated; of a federated user, whose hash may also be refreshed from home, the token of the request is revoked.
 */
function refuseOutdated(before: User, now: User): void {
  if (before.isLocal() && now.passwordHash !== before.passwordHash) throw refuse.current_password_incorrect()
  if (now.passwordChangedAt !== before.passwordChangedAt) throw refuse.password_changed_meanwhile()
}
