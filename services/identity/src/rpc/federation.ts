import {
  applyRemoteProfiles as applyRemoteProfilesCall,
  deleteFederatedIdentity as deleteFederatedIdentityCall,
  detachHome as detachHomeCall,
  forgetReplicatedInstances as forgetReplicatedInstancesCall,
  resolveReplicatedUser as resolveReplicatedUserCall,
} from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { applyProfiles } from '../operations/federation/apply-remote-profiles.ts'
import { deleteFederatedIdentity } from '../operations/federation/delete-federated-identity.ts'
import { forgetInstances } from '../operations/federation/delete-remote-identities.ts'
import { detachHome } from '../operations/federation/detach-home.ts'
import { resolveReplicatedUser } from '../operations/federation/resolve-replicated-user.ts'

/** Contract: 7. */
export async function respondToFederation(deps: Deps): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  opening.use(
    await deps.bus.respond(deleteFederatedIdentityCall, async (input, { requestId }) => ({
      outcome: await deleteFederatedIdentity(deps, { ...input, requestId }),
    })),
  )
  opening.use(await deps.bus.respond(resolveReplicatedUserCall, (input) => resolveReplicatedUser(deps, input)))
  opening.use(
    await deps.bus.respond(forgetReplicatedInstancesCall, async (input, { requestId }) => {
      await forgetInstances(deps, { ...input, requestId })
      return {}
    }),
  )
  opening.use(
    await deps.bus.respond(applyRemoteProfilesCall, async (input, { requestId }) => ({
      applied: await applyProfiles(deps, { ...input, requestId }),
    })),
  )
  opening.use(
    await deps.bus.respond(detachHomeCall, ({ host }, { requestId }) => detachHome(deps, { host, requestId })),
  )
  return opening.move()
}
