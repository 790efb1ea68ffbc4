import { userSuspended, userUnsuspended } from '@gatehouse/contracts'
import { findHoldingInstances, queueDeliveries } from '@gatehouse/deliveries'
import type { User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { enqueueNotice } from '../../mail/outbox.ts'
import { readDemand } from '../accounts/judge-code.ts'
import {
  changeAmongAdmins,
  changeOther,
  recordAccountEvent,
  writeAuditEntry,
  invalidateIfChanged,
} from '../change-account.ts'
import type { AdminAct, Changed } from '../change-account.ts'
import { revocationTime } from '../credentials/revocation-time.ts'
import { revokeMemberInvites } from '../revoke-member-invites.ts'

type Suspension = AdminAct & { reason?: string | null | undefined }

/** Revokes a local account's tokens and closes its sockets. The same suspension changes nothing. Contract: 5, suspend. */
export async function suspendUser(deps: OperationContext, { reason = null, ...act }: Suspension) {
  const { userId, actor, requestId } = act
  if (userId === actor.userId) throw refuse.own_suspension()
  return await changeAmongAdmins(deps, act, async (user, em, { isLastAdmin }) => {
    if (!user.isLocal()) throw refuse.suspension_of_home()
    if (user.suspendedAt != null && user.suspendedReason === reason) return { user }
    if (isLastAdmin) throw refuse.last_admin_suspended()
    const at = await revocationTime(deps, em, { user })
    // Another reason is no other suspension.
    if (user.suspendedAt == null) await enqueueNotice(em, { user, kind: 'suspended', at, data: { reason } })
    user.suspend(reason, at)
    await tellPeers(em, user, deps.clock.now())
    await revokeMemberInvites(deps, em, { user, actor, requestId })
    writeAuditEntry(em, { action: 'user.suspended', user, actor, detail: { reason }, at: deps.clock.now() })
    return { user, state: await recordAccountEvent(em, deps, userSuspended, { user, at, actor, reason, requestId }) }
  })
}

/** With the transaction. Of accounts of this instance alone. Contract: 7, Account states. */
async function tellPeers(em: EntityManager, user: User, now: number): Promise<void> {
  const { suspensionChangedAt: version } = user
  if (version == null || !user.isNative()) return
  await queueDeliveries(em, { userId: user.id, origins: await findHoldingInstances(em, user), version, now })
}

/** Lifts that by the home too. No token comes back. Contract: 5, suspend. */
export async function unsuspendUser(deps: OperationContext, act: AdminAct) {
  const { actor, requestId } = act
  const changed = await changeOther(deps, act, async (user, em): Promise<Changed> => {
    if (!user.isSuspended()) return { user }
    const at = deps.clock.now()
    user.unsuspend(at)
    await tellPeers(em, user, at)
    // The setting may have changed meanwhile.
    user.demandSecondFactor(await readDemand(em))
    writeAuditEntry(em, { action: 'user.unsuspended', user, actor, at })
    return { user, state: await recordAccountEvent(em, deps, userUnsuspended, { user, at, actor, requestId }) }
  })
  return await invalidateIfChanged(deps, changed)
}
