import { verifyToken } from '@gatehouse/auth'
import * as calls from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { applyProfiles } from '../operations/federation/apply-remote-profiles.ts'
import { deleteFederatedIdentity } from '../operations/federation/delete-federated-identity.ts'
import { forgetInstances } from '../operations/federation/forget-instances.ts'
import { detachHome } from '../operations/federation/detach-home.ts'
import { resolveReplicatedUser } from '../operations/federation/resolve-replicated-user.ts'

/** Of federation-fanout, and of session gateways for tokens. Contract: 7. */
export async function respondToCalls(deps: Deps): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const responders = [
    deps.bus.respond(calls.deleteFederatedIdentity, async (input, { requestId }) => ({
      outcome: await deleteFederatedIdentity(deps, { ...input, requestId }),
    })),
    deps.bus.respond(calls.resolveReplicatedUser, (input) => resolveReplicatedUser(deps, input)),
    deps.bus.respond(calls.forgetReplicatedInstances, async (input, { requestId }) => {
      await forgetInstances(deps, { ...input, requestId })
      return {}
    }),
    deps.bus.respond(calls.applyRemoteProfiles, async (input, { requestId }) => ({
      applied: await applyProfiles(deps, { ...input, requestId }),
    })),
    deps.bus.respond(calls.detachHome, ({ host }, { requestId }) => detachHome(deps, { host, requestId })),
    deps.bus.respond(calls.readTokenClaims, async ({ tokens }) => ({
      claims: tokens.map((token) => verifyToken(deps.tokenKey, token, deps.clock.now()) ?? null),
    })),
  ]
  for (const responder of responders) opening.use(await responder)
  return opening.move()
}
