import {
  deleteFederatedIdentity as deleteFederatedIdentityCall,
  forgetReplicatedInstances as forgetReplicatedInstancesCall,
  resolveReplicatedUser as resolveReplicatedUserCall,
} from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { deleteFederatedIdentity } from '../operations/delete-federated-identity.ts'
import { forgetReplicatedInstances } from '../operations/forget-replicated-instances.ts'
import { resolveReplicatedUser } from '../operations/resolve-replicated-user.ts'

/** Answers what federation-fanout asks of accounts, until disposed. Contract: 7. */
export async function answerFederation(deps: Deps): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  opening.use(
    await deps.bus.answer(deleteFederatedIdentityCall, async (input, { requestId }) => ({
      outcome: await deleteFederatedIdentity(deps, { ...input, requestId }),
    })),
  )
  opening.use(await deps.bus.answer(resolveReplicatedUserCall, (input) => resolveReplicatedUser(deps, input)))
  opening.use(
    await deps.bus.answer(forgetReplicatedInstancesCall, async (input) => {
      await forgetReplicatedInstances(deps, input)
      return {}
    }),
  )
  return opening.move()
}
