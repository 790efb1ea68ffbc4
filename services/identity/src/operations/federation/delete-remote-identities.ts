import { deleteIdentitiesAtPeers, normalizeOrigin, type fanoutBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import { policy } from '../../policy.ts'
import type { OwnAct } from '../change-account.ts'
import { carryOut, giveOrders, type DeletionResults, type OrderDeps } from './deletion-orders.ts'
import { forgetInstances } from './forget-instances.ts'

type Deletion = z.infer<typeof fanoutBody> & OwnAct

/**
 * Deletes the own identity at other instances, and forgets those where it is gone. Throws `Unavailable` where it is not
 * durable. Spec: federation-identity/delete; Contract: 7, fan-out, Deletion orders.
 */
export async function deleteRemoteIdentities(deps: OrderDeps, deletion: Deletion) {
  const { caller, mode, durable = false, requestId } = deletion
  const { userId } = caller
  // Sent requests cannot be taken back. Design: invariant 1.
  await transaction(deps.orm, async (em) => {
    await assertCallerCurrent(em, caller)
    const user = await em.findOne(User, { id: userId, homeInstance: null }, { fields: ['id'] })
    if (!user) throw refuse.not_at_home()
    if (durable && mode !== 'leave') await giveOrders(em, { ...deletion, userId, mode }, deps.clock.now())
  })
  const results = await deleteAtOrigins(deps, deletion)
  const gone = results.flatMap(({ origin, result }) => (result.success ? [origin] : []))
  // The identities are gone already. The next deletion repeats what failed.
  await forgetInstances(deps, { userId, origins: gone, requestId, mode }).catch((err: unknown) => {
    deps.log.warn({ requestId, userId, err }, 'replicated instances not updated after deletion')
  })
  return { results: Object.fromEntries(results.map(({ origin, result }) => [origin, result])) }
}

async function deleteAtOrigins(deps: OrderDeps, deletion: Deletion): Promise<DeletionResults> {
  const { caller, origins, mode, durable, requestId } = deletion
  if (mode === 'leave') return leaveAll(origins)
  const asked = { userId: caller.userId, mode, origins }
  if (durable) return await carryOut(deps, asked, requestId)
  const options = { requestId, timeoutMs: policy.fanoutCallTimeoutMs }
  return (await deps.bus.request(deleteIdentitiesAtPeers, asked, options)).results
}

/** Sends nothing: the user only forgets the instance. federation-wire.md 3. */
function leaveAll(origins: readonly string[]): DeletionResults {
  const noPeer = { success: false as const, error: 'no_active_peer' }
  return origins.map((origin) => ({ origin, result: normalizeOrigin(origin) ? { success: true } : noPeer }))
}
