import type { Server, ServerOptions } from 'node:http'
import { createAccountStates, createCallerKey, createTokenKey, signCallerToken } from '@gatehouse/auth'
import { listen, type Lifecycle } from '@gatehouse/service-kit'
import { startCacheUpdater } from './account-states/cache-updater.ts'
import { createAccountStateLoader } from './account-states/load-account-states.ts'
import { createTokenCache } from './auth/token-cache.ts'
import type { GatewayConfig } from './config.ts'
import type { Deps, GatewayResources } from './deps.ts'
import { createClientAddress } from './http/client-address.ts'
import { handleClientErrors } from './http/client-errors.ts'
import { createRequestHandler } from './http/handle-request.ts'
import { startOperatorPort } from './http/operator-port.ts'
import { createResponseHeaders } from './http/response-headers.ts'
import { openRateLimits } from './limits/rate-limits.ts'
import { createGatewayMetrics } from './metrics.ts'
import { defaultTimeouts, policy, type Timeouts } from './policy.ts'
import { openReplicas } from './proxy/replicas.ts'
import { createSocketPairs } from './websocket/socket-pairs.ts'
import { createUpgradeHandler, isWebSocketUpgrade, type UpgradeHandler } from './websocket/upgrades.ts'

export { readConfig, type GatewayConfig } from './config.ts'
export { tuneGc } from './tune-gc.ts'

/** Starts the gateway: the one origin that browsers, clients of other instances and peers connect to. */
export async function startGateway(
  config: GatewayConfig,
  resources: GatewayResources,
  overrides: { timeouts?: Partial<Timeouts> } = {},
) {
  await using opening = new AsyncDisposableStack()
  const timeouts = { ...defaultTimeouts, ...overrides.timeouts }
  const lifecycle: Lifecycle = { draining: false }
  const socketPairs = createSocketPairs()
  const deps = await openDeps({ ...resources, config, timeouts }, { opening, openSockets: socketPairs.count })
  opening.use(await startCacheUpdater(deps))
  const operatorPort = opening.use(await startOperatorPort(deps, lifecycle))
  const upgrades = createUpgradeHandler(deps, socketPairs)
  const http = await listen(createRequestHandler(deps), { ...config, lifecycle, server: serverOptions(timeouts) })
  // Together: the server closes when it has no connection left, and a socket is one.
  opening.defer(async () => {
    await Promise.all([http[Symbol.asyncDispose](), upgrades[Symbol.asyncDispose]()])
  })
  attach(http.server, upgrades, timeouts)
  const open = opening.move()
  return { ...http, opsUrl: operatorPort.url, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type Started = GatewayResources & Pick<Deps, 'config' | 'timeouts'>
type Opening = { opening: AsyncDisposableStack; openSockets: () => number }

async function openDeps(started: Started, { opening, openSockets }: Opening): Promise<Deps> {
  const { config, clock, log, metrics, accountStateCache } = started
  const callerKey = createCallerKey(config.internalSecret)
  const signCaller: Deps['signCaller'] = (caller) => signCallerToken(callerKey, caller, clock.now())
  const openAll = (origins: readonly string[]) => opening.use(openReplicas(origins, started))
  const replicas = {
    identity: openAll(config.services.identity),
    invite: openAll(config.services.invite),
    'session-gateway': openAll(config.services['session-gateway']),
    'federation-fanout': openAll(config.services['federation-fanout']),
  }
  const load = createAccountStateLoader({ replicas, signCaller, log })
  return {
    ...started,
    signCaller,
    replicas,
    tokenCache: createTokenCache(createTokenKey(config.jwtSecret), policy.cachedTokens),
    accountStates: createAccountStates({ cache: accountStateCache, load }),
    clientAddress: createClientAddress(config.trustProxy),
    rateLimits: opening.use(await openRateLimits({ redisUrl: config.redisUrl, log })),
    responseHeaders: createResponseHeaders(config.publicAddress),
    gatewayMetrics: createGatewayMetrics(metrics, openSockets),
  }
}

/** Stricter than Node's defaults, so that slow and endless requests hold no connection. */
function serverOptions(timeouts: Timeouts): ServerOptions {
  return {
    maxHeaderSize: policy.headerBytes,
    headersTimeout: timeouts.clientHeadersMs,
    requestTimeout: timeouts.clientRequestMs,
    connectionsCheckingInterval: Math.min(5_000, timeouts.clientHeadersMs / 2),
    noDelay: true,
    shouldUpgradeCallback: isWebSocketUpgrade,
  }
}

function attach(server: Server, upgrades: UpgradeHandler, timeouts: Timeouts): void {
  server.timeout = timeouts.clientRequestMs
  server.on('upgrade', upgrades.handleUpgrade)
  // Without this listener Node sends 100 Continue itself, also for a request that is refused before its body is read.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response))
  handleClientErrors(server)
}
