import type { deleteSelfBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent, assertCurrent, deletedUsername, recordAudit } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { loadCaller, lockLocalAdmins, lockUser, requireLive } from '../../queries/load-user.ts'
import { changeSelf, type AdminAct, type OwnAct } from '../change-account.ts'
import { verifyOwnPassword } from '../credentials/verify-password.ts'
import { deleteLockedAccount, finishDeletion, type DeletionDeps } from './delete-locked-account.ts'
import { askBeforeDeletion } from './upstream-deletions.ts'

type OwnDeletion = z.infer<typeof deleteSelfBody> & OwnAct & { address: string }

const wrong = 'account_deletion_password_incorrect'

/** The last admin may delete the own account too: only the role is guarded. Spec: DELETE self 1-4. */
export async function deleteAccount(deps: DeletionDeps & Pick<Deps, 'hasher'>, deletion: OwnDeletion): Promise<void> {
  const { caller, username, password, address, requestId } = deletion
  const verified = await loadCaller(deps, caller)
  if (username !== verified.username) throw refuse.username_confirmation_mismatch()
  await verifyOwnPassword(deps, verified, { password, address, wrong })
  const audience = await askBeforeDeletion(deps, verified)
  const state = await changeSelf(deps, caller, async (user, em) => {
    if (user.username !== username) throw refuse.username_confirmation_mismatch()
    if (user.isLocal() && user.passwordHash !== verified.passwordHash) throw refuse[wrong]()
    return await deleteLockedAccount(deps, em, { user, mode: 'full', actor: null, requestId, audience })
  })
  await finishDeletion(deps, state)
}

/** An admin deletes another account. Contract: 5. */
export async function deleteUser(deps: DeletionDeps, { userId, actor, requestId }: AdminAct): Promise<void> {
  if (userId === actor.userId) throw refuse.own_account()
  const found = requireLive(await deps.orm.em.fork().findOne(User, { id: userId }))
  const audience = await askBeforeDeletion(deps, found)
  const deletion = async (em: EntityManager) => {
    const target = await em.findOne(User, { id: userId })
    // Admins who delete each other wait here, and then find themselves deleted.
    if (target?.isAdmin) await lockLocalAdmins(em)
    if (actor.userId !== null) assertCurrent(await em.findOne(User, { id: actor.userId }), actor, { admin: true })
    const user = requireLive(await lockUser(em, userId))
    const wasAdmin = user.isAdmin
    const state = await deleteLockedAccount(deps, em, { user, mode: 'full', actor, requestId, audience })
    const at = new Date(deps.clock.now())
    recordAudit(em, { action: 'user.deleted', actor, target: { type: 'user', id: userId, name: deletedUsername }, at })
    await em.flush()
    if (wasAdmin && (await lockLocalAdmins(em)).length === 0) throw refuse.last_admin_deleted()
    // A change of the actor's password waits for this lock. A deletion may take long.
    await assertCallerCurrent(em, actor, { admin: true })
    return state
  }
  await finishDeletion(deps, await transaction(deps.orm, deletion, { accountId: userId }))
}
