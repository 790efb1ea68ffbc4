import { deleteIdentitiesAtPeers, normalizeOrigin, type fanoutBody } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { User, assertCallerCurrent, type ActingCaller } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'
import { forgetRegistryEntries } from './registry.ts'

type ForgetDeps = OperationContext & Pick<Deps, 'afterCommit'>
type Deletion = z.infer<typeof fanoutBody> & { caller: ActingCaller; requestId?: string | undefined }
type Results = z.infer<typeof deleteIdentitiesAtPeers.reply>['results']

/**
 * Deletes the own identity at other instances, and forgets those where it is gone. Results stand under each origin as
 * spelled. Throws account_deleted, token_revoked, not_at_home, `Unavailable`. Spec: federation-identity/delete; Contract:
 * 7, fan-out.
 */
export async function deleteRemoteIdentities(deps: ForgetDeps & Pick<Deps, 'bus'>, deletion: Deletion) {
  const { caller, origins, mode, requestId } = deletion
  const { userId } = caller
  await transaction(deps.orm, (em) => assertMayDelete(em, caller))
  const options = { requestId, timeoutMs: policy.fanoutCallTimeoutMs }
  const results =
    mode === 'leave'
      ? leaveAll(origins)
      : (await deps.bus.request(deleteIdentitiesAtPeers, { userId, origins, mode }, options)).results
  const gone = results.flatMap(({ origin, result }) => (result.success ? [origin] : []))
  // The identities are gone already. The next deletion repeats what failed.
  await forgetInstances(deps, { userId, origins: gone, requestId }).catch((err: unknown) => {
    deps.log.warn({ requestId, userId, err }, 'replicated instances not updated after deletion')
  })
  return Object.fromEntries(results.map(({ origin, result }) => [origin, result]))
}

/** Sent requests cannot be taken back. Design: invariant 1. */
async function assertMayDelete(em: EntityManager, caller: ActingCaller): Promise<void> {
  await assertCallerCurrent(em, caller)
  const user = await em.findOne(User, { id: caller.userId, homeInstance: null }, { fields: ['id'] })
  if (!user) throw refuse.not_at_home()
}

/** Sends nothing: the user only forgets the instance. federation-wire.md 3. */
function leaveAll(origins: readonly string[]): Results {
  const noPeer = { success: false as const, error: 'no_active_peer' }
  return origins.map((origin) => ({ origin, result: normalizeOrigin(origin) ? { success: true } : noPeer }))
}

type ForgottenInstances = { userId: string; origins: readonly string[]; requestId?: string | undefined }

/** Drops instances from a user's list and from the registry of the clients. A deleted user has none. Contract: 7, fan-out. */
export async function forgetInstances(
  deps: ForgetDeps,
  { userId, origins, requestId }: ForgottenInstances,
): Promise<void> {
  if (origins.length === 0) return
  await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted) return
    await forgetRegistryEntries(em, { userId, origins, now: deps.clock.now() })
    const kept = withoutOrigins(user.replicatedInstances, origins)
    if (kept.length === user.replicatedInstances.length) return
    user.replicatedInstances = kept
    await recordProfileChange(em, deps, { user, changed: ['replicatedInstances'], requestId })
  })
  deps.afterCommit.publishEvents()
}
