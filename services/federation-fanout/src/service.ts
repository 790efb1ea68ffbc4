import { startOutboxRelay } from '@gatehouse/bus'
import { peerChanged } from '@gatehouse/contracts'
import { createOutbound } from '@gatehouse/outbound'
import { startHttpService, type RunningService } from '@gatehouse/service-kit'
import { createBackgroundTasks } from './background.ts'
import type { FederationFanoutConfig } from './config.ts'
import type { Deps, FederationResources } from './deps.ts'
import { hostOf } from './peers/signature.ts'
import { startNonceCleanUp } from './requests/nonces.ts'
import { approvalRequestRoutes } from './routes/approval-requests.ts'
import { fanOutRoutes } from './routes/fan-out.ts'
import { peerRoutes } from './routes/peers.ts'
import { signedRoutes } from './routes/signed.ts'

export { readConfig, type FederationFanoutConfig } from './config.ts'

/** Starts the federation service: peers, their signed requests, and the fan-out of deletions. */
export async function startFederationFanout(
  config: FederationFanoutConfig,
  resources: FederationResources,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  const background = opening.use(createBackgroundTasks(resources.log))
  const outbound = overrides.outbound ?? opening.use(createOutbound(config.reach))
  const relay = opening.use(startOutboxRelay({ ...resources, events: [peerChanged] }))
  const deps: Deps = { ...resources, config, background, outbound, relay, ...overrides }
  opening.use(startNonceCleanUp(deps))
  warnOfForeignDomain(deps)
  const routers = [peerRoutes(deps), approvalRequestRoutes(deps), signedRoutes(deps), fanOutRoutes(deps)]
  const http = opening.use(
    await startHttpService(
      { ...config, name: 'federation-fanout', portVariable: 'FEDERATION_FANOUT_PORT', routers },
      resources,
    ),
  )
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Peers accept deletions for users of the signing host only. Contract: 7, identity. */
function warnOfForeignDomain({ config, log }: Pick<Deps, 'config' | 'log'>): void {
  const { origin, domain } = config.publicAddress
  if (hostOf(origin) === domain) return
  log.warn({ origin, domain }, 'DOMAIN is not the host of PUBLIC_ORIGIN: peers will refuse to delete our users there')
}
