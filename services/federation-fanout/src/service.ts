import { startOutboxRelay } from '@gatehouse/bus'
import { peerChanged } from '@gatehouse/contracts'
import { createOutbound } from '@gatehouse/outbound'
import type { Timer } from '@gatehouse/runtime'
import { startHttpService, type RunningService } from '@gatehouse/service-kit'
import { answerCalls } from './answer-calls.ts'
import { createBackgroundTasks } from './background.ts'
import type { FederationFanoutConfig } from './config.ts'
import type { Deps, FederationResources } from './deps.ts'
import { startMaintenance } from './maintenance/run-due.ts'
import { consumeProfileChanges } from './relay/enqueue-profiles.ts'
import { startNonceCleanUp } from './requests/nonces.ts'
import { createProvenAddresses } from './requests/proven-addresses.ts'
import { approvalRequestRoutes, peeringRoutes, peerRoutes } from './routes/peers.ts'
import { exchangeRoutes, identityRoutes } from './routes/signed.ts'

export { readConfig, type FederationFanoutConfig } from './config.ts'

export type FederationOverrides = Partial<Deps> & { timer?: Timer }

export async function startFederationFanout(
  config: FederationFanoutConfig,
  resources: FederationResources,
  { timer, ...overrides }: FederationOverrides = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  const background = opening.use(createBackgroundTasks(resources.log))
  const outbound = overrides.outbound ?? opening.use(createOutbound(config.reach))
  const relay = opening.use(startOutboxRelay({ ...resources, events: [peerChanged] }))
  const maintenance = opening.use(startMaintenance(() => deps, resources, timer))
  const provenAddresses = createProvenAddresses(resources.clock)
  const own = { config, background, outbound, relay, maintenance, provenAddresses }
  const deps: Deps = { ...resources, ...own, ...overrides }
  opening.use(startNonceCleanUp(deps))
  opening.use(await answerCalls(deps))
  opening.use(await consumeProfileChanges(deps))
  const routers = [
    ...[peeringRoutes(deps), peerRoutes(deps), approvalRequestRoutes(deps)],
    ...[exchangeRoutes(deps), identityRoutes(deps)],
  ]
  const http = opening.use(
    await startHttpService(
      { ...config, name: 'federation-fanout', portVariable: 'FEDERATION_FANOUT_PORT', routers },
      resources,
    ),
  )
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
