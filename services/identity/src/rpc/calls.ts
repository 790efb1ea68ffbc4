import { verifyToken } from '@gatehouse/auth'
import * as calls from '@gatehouse/contracts'
import type { Deps } from '../deps.ts'
import { applyStates } from '../operations/federation/apply-account-states.ts'
import { applyProfiles } from '../operations/federation/apply-remote-profiles.ts'
import { deleteFederatedIdentity } from '../operations/federation/delete-federated-identity.ts'
import { detachHome } from '../operations/federation/detach-home.ts'
import { resolveReplicatedUser } from '../operations/federation/resolve-replicated-user.ts'

/** Of federation-fanout, and of session gateways for tokens. Contract: 7, lookups. */
export async function respondToCalls(deps: Deps): Promise<AsyncDisposable> {
  const { bus, clock, tokenKey } = deps
  await using opening = new AsyncDisposableStack()
  const responders = [
    bus.respond(calls.deleteFederatedIdentity, async (input, { requestId }) => ({
      outcome: await deleteFederatedIdentity(deps, { ...input, requestId }),
    })),
    bus.respond(calls.resolveReplicatedUser, (input) => resolveReplicatedUser(deps, input)),
    bus.respond(calls.applyRemoteProfiles, (input, { requestId }) => applyProfiles(deps, { ...input, requestId })),
    bus.respond(calls.applyAccountStates, (input, { requestId }) => applyStates(deps, { ...input, requestId })),
    bus.respond(calls.detachHome, (input, { requestId }) => detachHome(deps, { ...input, requestId })),
    bus.respond(calls.readTokenClaims, async ({ tokens }) => ({
      claims: tokens.map((token) => verifyToken(tokenKey, token, clock.now()) ?? null),
    })),
  ]
  for (const responder of responders) opening.use(await responder)
  return opening.move()
}
