import { normalizeOrigin, type fanoutBody } from '@gatehouse/contracts'
import { FederationCredential, FederationRegistry } from '@gatehouse/domain'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'

export type ForgottenInstances = {
  userId: string
  origins: readonly string[]
  /** `leave`: the accounts there stay. */
  mode?: z.infer<typeof fanoutBody>['mode']
  requestId?: string | undefined
}

/**
 * Drops instances from a user's list and from the registry of the clients, and the passwords of accounts that are gone. A
 * deleted user has none. The spelling of an origin does not matter. Contract: 3, federation-credential; 7, fan-out.
 */
export async function forgetInstances(deps: OperationContext, forgotten: ForgottenInstances): Promise<void> {
  const { userId, origins, mode = 'leave', requestId } = forgotten
  if (origins.length === 0) return
  const spelling = (origin: string) => normalizeOrigin(origin) ?? origin
  const removed = new Set(origins.map(spelling))
  const isKept = ({ origin }: { origin: string }) => !removed.has(spelling(origin))
  await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted) return
    if (mode !== 'leave') await em.nativeDelete(FederationCredential, { userId, origin: { $in: [...removed] } })
    const registry = await em.findOne(FederationRegistry, { userId })
    if (registry && !registry.entries.every(isKept)) {
      registry.entries = registry.entries.filter(isKept)
      // The later time tells clients of the change.
      registry.updatedAt = Math.max(deps.clock.now(), registry.updatedAt + 1)
    }
    if (user.replicatedInstances.every(isKept)) return
    user.replicatedInstances = user.replicatedInstances.filter(isKept)
    await recordProfileChange(em, deps, { user, changed: ['replicatedInstances'], requestId })
  })
  deps.afterCommit.publishEvents()
}
