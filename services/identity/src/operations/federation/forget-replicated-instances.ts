import { profileChanged } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { accountStateOf } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'
import { forgetRegistryEntries } from './registry.ts'

type ForgottenInstances = { userId: string; origins: readonly string[]; requestId?: string | undefined }

/**
 * Drops instances where the user's identity has been deleted, from the user's list and from the registry of the clients; a
 * deleted user has none. Contract: 7, fan-out.
 */
export async function forgetReplicatedInstances(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, origins, requestId }: ForgottenInstances,
): Promise<void> {
  const forget = async (em: EntityManager) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) return
    await forgetRegistryEntries(em, { userId, origins, now: deps.clock.now() })
    const kept = withoutOrigins(user.replicatedInstances, origins)
    if (kept.length === user.replicatedInstances.length) return
    user.replicatedInstances = kept
    await em.flush()
    const { profileUpdatedAt } = user
    const changed = { profileUpdatedAt, changed: ['replicatedInstances'] }
    const facts = { state: accountStateOf(user), at: deps.clock.now(), ...changed, requestId }
    await recordAccountEvent(em, deps, profileChanged, facts)
  }
  await runTransaction(deps.orm, forget, { accountId: userId })
  deps.afterCommit.publishEvents()
}
