import { createEncryptionKey, createReceiptKeys } from '@gatehouse/auth'
import { checkHomeEpoch, deleteIdentitiesAtPeers, lookUpByHomeId } from '@gatehouse/contracts'
import { peerChanged, verifyAttachProof } from '@gatehouse/contracts'
import { createOutbound } from '@gatehouse/outbound'
import { startOutboxRelay } from '@gatehouse/outbox'
import { createBackgroundTasks, type Timer } from '@gatehouse/runtime'
import { startHttpService, type RunningService } from '@gatehouse/service-kit'
import type { FederationFanoutConfig } from './config.ts'
import type { Deps, FederationResources } from './deps.ts'
import { startMaintenance } from './maintenance/run-due.ts'
import { askByHomeId, askProof, checkHome } from './operations/ask-home.ts'
import { deleteAtPeers } from './operations/delete-at-peers.ts'
import { startSealing } from './peers/seal-secrets.ts'
import { consumeProfileChanges } from './relay/deliver-profiles.ts'
import { createSigningNetworks } from './requests/signing-networks.ts'
import { peerRoutes } from './routes/peers.ts'
import { signedRoutes } from './routes/signed.ts'

export { readConfig, type FederationFanoutConfig } from './config.ts'

export type FederationOverrides = Partial<Deps> & { timer?: Timer }

export async function startFederationFanout(
  config: FederationFanoutConfig,
  resources: FederationResources,
  { timer, ...overrides }: FederationOverrides = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  const background = opening.use(createBackgroundTasks(resources.log))
  const encryptionSecrets = [config.encryptionSecret, config.previousEncryptionSecrets] as const
  const encryptionKey = createEncryptionKey(...encryptionSecrets)
  const receiptKeys = createReceiptKeys(...encryptionSecrets)
  await startSealing({ ...resources, encryptionKey })
  const outbound = overrides.outbound ?? opening.use(createOutbound(config.reach))
  const relay = opening.use(startOutboxRelay({ ...resources, events: [peerChanged] }))
  const signingNetworks = createSigningNetworks(resources)
  const own = { config, background, outbound, relay, signingNetworks, encryptionKey, receiptKeys }
  const common = { ...resources, ...own, ...overrides }
  const deps: Deps = { maintenance: opening.use(startMaintenance(common, timer)), ...common }
  const { bus } = deps
  opening.use(await bus.respond(checkHomeEpoch, (input, context) => checkHome(deps, { ...context, ...input })))
  opening.use(await bus.respond(lookUpByHomeId, (input) => askByHomeId(deps, input)))
  opening.use(await bus.respond(verifyAttachProof, (input) => askProof(deps, input)))
  const deletion = await bus.respond(deleteIdentitiesAtPeers, async (input, { requestId }) => {
    return { results: await deleteAtPeers(deps, { ...input, requestId }) }
  })
  opening.use(deletion)
  opening.use(await consumeProfileChanges(deps))
  const routers = [peerRoutes(deps), signedRoutes(deps)]
  const service = { ...config, name: 'federation-fanout', portVariable: 'FEDERATION_FANOUT_PORT', routers }
  const http = opening.use(await startHttpService(service, resources))
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
