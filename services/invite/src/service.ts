// Manages invites: creates, lists, changes, revokes and checks them. It redeems none. A redemption is one transaction over the invite and
// the new account (Design: invariant 3), and accounts are identity's: registerLocal in services/identity locks the invite and counts the use,
// with the rules of libs/invites, which both services share. Identity writes InviteRedeemed in that transaction, so it publishes the event.

import { inviteEvents, inviteRedeemed } from '@gatehouse/contracts'
import { startOutboxRelay } from '@gatehouse/outbox'
import { startHttpService, type RunningService } from '@gatehouse/service-kit'
import type { InviteConfig } from './config.ts'
import type { Deps, InviteResources } from './deps.ts'
import { inviteRoutes } from './routes.ts'

export { readConfig, type InviteConfig } from './config.ts'

/** All but identity's own. */
const relayedEvents = inviteEvents.filter((event) => event !== inviteRedeemed)

export async function startInvite(config: InviteConfig, resources: InviteResources): Promise<RunningService> {
  await using opening = new AsyncDisposableStack()
  const relay = opening.use(startOutboxRelay({ ...resources, events: relayedEvents }))
  const deps: Deps = { ...resources, config, relay }
  const service = { ...config, name: 'invite', portVariable: 'INVITE_PORT', routers: [inviteRoutes(deps)] }
  const running = opening.use(await startHttpService(service, resources))
  const open = opening.move()
  return { ...running, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
