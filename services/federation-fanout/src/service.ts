import { createOutbound } from '@gatehouse/outbound'
import { startHttp, type Ports, type RunningService } from '@gatehouse/service-kit'
import { createBackground } from './background.ts'
import type { FederationFanoutConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { hostOf } from './peers/signature.ts'
import { startNonceSweep } from './requests/nonces.ts'
import { approvalRequestRoutes } from './routes/approval-requests.ts'
import { fanOutRoutes } from './routes/fan-out.ts'
import { peerRoutes } from './routes/peers.ts'
import { signedRoutes } from './routes/signed.ts'

export { readConfig, type FederationFanoutConfig } from './config.ts'

/** Starts the federation service: peers, their signed requests, and the fan-out of deletions. */
export async function startFederationFanout(
  config: FederationFanoutConfig,
  ports: Ports,
  overrides: Partial<Deps> = {},
): Promise<RunningService & { deps: Deps }> {
  await using opening = new AsyncDisposableStack()
  const background = opening.use(createBackground(ports.log))
  const outbound = overrides.outbound ?? opening.use(createOutbound(config.reach))
  const deps: Deps = { ...ports, config, background, outbound, ...overrides }
  opening.use(startNonceSweep(deps))
  warnOfForeignDomain(deps)
  const routers = [peerRoutes(deps), approvalRequestRoutes(deps), signedRoutes(deps), fanOutRoutes(deps)]
  const http = opening.use(
    await startHttp({ ...config, name: 'federation-fanout', portVariable: 'FEDERATION_FANOUT_PORT', routers }, ports),
  )
  const open = opening.move()
  return { ...http, deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Peers take our word for users of the host that signs, and of no other. Contract: 7, identity. */
function warnOfForeignDomain({ config, log }: Pick<Deps, 'config' | 'log'>): void {
  const { origin, domain } = config.publicAddress
  if (hostOf(origin) === domain) return
  log.warn({ origin, domain }, 'DOMAIN is not the host of PUBLIC_ORIGIN: peers will refuse to delete our users there')
}
