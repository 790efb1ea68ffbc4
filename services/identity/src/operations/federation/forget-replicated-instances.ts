import { profileChanged } from '@gatehouse/contracts'
import { accountStateOf } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'

type ForgottenInstances = { userId: string; origins: readonly string[]; requestId?: string | undefined }

/** Drops instances where the user's identity has been deleted; a deleted user has none. Contract: 7, fan-out. */
export async function forgetReplicatedInstances(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { userId, origins, requestId }: ForgottenInstances,
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const user = await lockUser(em, userId)
    if (!user || user.isDeleted) return
    const kept = withoutOrigins(user.replicatedInstances, origins)
    if (kept.length === user.replicatedInstances.length) return
    user.replicatedInstances = kept
    await em.flush()
    const { profileUpdatedAt } = user
    const changed = { profileUpdatedAt, changed: ['replicatedInstances'] }
    const facts = { state: accountStateOf(user), at: deps.clock.now(), ...changed, requestId }
    await recordAccountEvent(em, deps, profileChanged, facts)
  })
  deps.afterCommit.publishEvents()
}
