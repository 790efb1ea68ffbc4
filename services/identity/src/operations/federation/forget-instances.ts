import type { fanoutBody } from '@gatehouse/contracts'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { changeUser, recordProfileChange } from '../change-account.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'
import { deleteFederationCredentials } from './federation-credentials.ts'
import { forgetRegistryEntries } from './registry.ts'

export type ForgetDeps = OperationContext & Pick<Deps, 'afterCommit'>

type ForgottenInstances = {
  userId: string
  origins: readonly string[]
  /** `leave`: the accounts there stay. */
  mode?: z.infer<typeof fanoutBody>['mode']
  requestId?: string | undefined
}

/** Drops instances from a user's list and from the registry of the clients. A deleted user has none. Contract: 7, fan-out. */
export async function forgetInstances(
  deps: ForgetDeps,
  { userId, origins, mode = 'leave', requestId }: ForgottenInstances,
): Promise<void> {
  if (origins.length === 0) return
  await changeUser(deps, userId, async (user, em) => {
    if (!user || user.isDeleted) return
    if (mode !== 'leave') await deleteFederationCredentials(em, { userId, origins })
    await forgetRegistryEntries(em, { userId, origins, now: deps.clock.now() })
    const kept = withoutOrigins(user.replicatedInstances, origins)
    if (kept.length === user.replicatedInstances.length) return
    user.replicatedInstances = kept
    await recordProfileChange(em, deps, { user, changed: ['replicatedInstances'], requestId })
  })
  deps.afterCommit.publishEvents()
}
