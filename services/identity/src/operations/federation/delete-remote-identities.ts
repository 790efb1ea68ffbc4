import { deleteIdentitiesAtPeers, normalizeOrigin, type fanoutBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent, type ActingCaller } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { carryOut, giveOrders, type DeletionResults } from './deletion-orders.ts'
import { forgetInstances, type ForgetDeps } from './forget-instances.ts'

type Deletion = z.infer<typeof fanoutBody> & { caller: ActingCaller; requestId?: string | undefined }

/**
 * Deletes the own identity at other instances, and forgets those where it is gone. Results stand under each origin as
 * spelled. Throws account_deleted, token_revoked, not_at_home, `Unavailable` where it is not durable. Spec:
 * federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export async function deleteRemoteIdentities(deps: ForgetDeps & Pick<Deps, 'bus'>, deletion: Deletion) {
  const { caller, mode, requestId } = deletion
  const { userId } = caller
  const isOrder = deletion.durable === true && mode !== 'leave'
  await transaction(deps.orm, async (em) => {
    await assertMayDelete(em, caller)
    if (isOrder) await giveOrders(em, { ...deletion, userId, mode }, deps.clock.now())
  })
  const results = await deleteAtOrigins(deps, deletion)
  const gone = results.flatMap(({ origin, result }) => (result.success ? [origin] : []))
  // The identities are gone already. The next deletion repeats what failed.
  await forgetInstances(deps, { userId, origins: gone, requestId, mode }).catch((err: unknown) => {
    deps.log.warn({ requestId, userId, err }, 'replicated instances not updated after deletion')
  })
  return Object.fromEntries(results.map(({ origin, result }) => [origin, result]))
}

async function deleteAtOrigins(deps: ForgetDeps & Pick<Deps, 'bus'>, deletion: Deletion): Promise<DeletionResults> {
  const { caller, origins, mode, durable, requestId } = deletion
  if (mode === 'leave') return leaveAll(origins)
  const { userId } = caller
  if (durable) return await carryOut(deps, { userId, mode, origins }, requestId)
  const options = { requestId, timeoutMs: policy.fanoutCallTimeoutMs }
  return (await deps.bus.request(deleteIdentitiesAtPeers, { userId, origins, mode }, options)).results
}

/** Sent requests cannot be taken back. Design: invariant 1. */
async function assertMayDelete(em: EntityManager, caller: ActingCaller): Promise<void> {
  await assertCallerCurrent(em, caller)
  const user = await em.findOne(User, { id: caller.userId, homeInstance: null }, { fields: ['id'] })
  if (!user) throw refuse.not_at_home()
}

/** Sends nothing: the user only forgets the instance. federation-wire.md 3. */
function leaveAll(origins: readonly string[]): DeletionResults {
  const noPeer = { success: false as const, error: 'no_active_peer' }
  return origins.map((origin) => ({ origin, result: normalizeOrigin(origin) ? { success: true } : noPeer }))
}
