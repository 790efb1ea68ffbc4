import type { ServerOptions } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { createSigningKeys, createTokenKey } from '@gatehouse/auth'
import { createAccountStates, startCacheUpdater } from '@gatehouse/authority'
import { serviceNames, type ServiceName } from '@gatehouse/contracts'
import { createQuota } from '@gatehouse/runtime'
import { clientNetwork, handleErrors, healthEndpoints, listen, resourceReadiness } from '@gatehouse/service-kit'
import { type Lifecycle, type Listening } from '@gatehouse/service-kit'
import { noUpstreams, watchUpstreams } from '@gatehouse/upstreams'
import Koa from 'koa'
import { createAccountStateLoader } from './auth/account-states.ts'
import { createCallerSigners, createTokenCache, createUpstreamCallers } from './auth/callers.ts'
import type { GatewayConfig } from './config.ts'
import type { Deps, GatewayResources } from './deps.ts'
import { createClientAddress, createProxyCheck } from './http/client-address.ts'
import { handleClientErrors } from './http/client-errors.ts'
import { createResponseHeaders } from './http/headers.ts'
import { createAccessLog, lateHeadersOf } from './http/request-context.ts'
import { createConnectionLimits, createUploadLimits, readDescriptorLimit } from './limits/connection-limits.ts'
import { openRateLimits } from './limits/rate-limits.ts'
import { createGatewayMetrics, type GatewayMetrics } from './metrics.ts'
import { defaultCapacity, defaultTimeouts, policy, type Capacity, type Timeouts } from './policy.ts'
import { createRequestHandler } from './proxy/handle-request.ts'
import { createAddressResolver } from './replicas/discover-origins.ts'
import { openReplicas, type InProcessReplicas, type ReplicaOptions, type Replicas } from './replicas/replicas.ts'
import { openUpstreams } from './upstreams/open-upstreams.ts'
import { createSocketPairs } from './websocket/socket-pairs.ts'
import { createUpgradeHandler, isWebSocketUpgrade, type UpgradeHandler } from './websocket/upgrades.ts'

export { readConfig, type GatewayConfig } from './config.ts'

type Overrides = { timeouts?: Partial<Timeouts>; capacity?: Partial<Capacity>; inProcess?: InProcessReplicas }

export async function startGateway(config: GatewayConfig, resources: GatewayResources, overrides: Overrides = {}) {
  await using opening = new AsyncDisposableStack()
  const timeouts = { ...defaultTimeouts, ...overrides.timeouts }
  const capacity = { ...defaultCapacity, ...overrides.capacity }
  const lifecycle: Lifecycle = { draining: false }
  const socketPairs = createSocketPairs()
  const started = { ...resources, config, timeouts, capacity, inProcess: overrides.inProcess }
  const deps = await openDeps(opening, started, socketPairs.count)
  const { revocationApplied } = deps.gatewayMetrics
  opening.use(await startCacheUpdater({ ...resources, revocationApplied }))
  const operatorPort = opening.use(await startOperatorPort(deps, lifecycle))
  const upgrades = createUpgradeHandler(deps, socketPairs)
  const options = { ...config, lifecycle, server: serverOptions(timeouts), upgrades: true, lateHeaders: lateHeadersOf }
  const http = await listen(createRequestHandler(deps), options)
  opening.defer(() => stop(http, upgrades))
  const { server } = http
  server.on('connection', deps.connectionLimits.add)
  server.timeout = timeouts.silenceMs
  server.on('upgrade', upgrades.handleUpgrade)
  // Node would send 100 Continue even for a request that is refused.
  server.on('checkContinue', (request, response) => void server.emit('request', request, response))
  // Node would answer 417. RFC 9110, 10.1.1 allows this.
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response))
  handleClientErrors(server, lifecycle, deps.random)
  const open = opening.move()
  return { ...http, opsUrl: operatorPort.url, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type Started = GatewayResources & Pick<Deps, 'config' | 'timeouts' | 'capacity'> & Pick<ReplicaOptions, 'inProcess'>

async function openDeps(opening: AsyncDisposableStack, started: Started, openSockets: () => number): Promise<Deps> {
  const { config, clock, log, metrics, accountStateCache, capacity } = started
  const { upstreamsFile, publicAddress } = config
  const signingKeys = createSigningKeys('gateway', config.internalSecret, config.previousInternalSecrets)
  const callerSigners = createCallerSigners({ keys: signingKeys, issuer: publicAddress.origin, clock })
  const ofServices = serviceNames.map((name) => [name, callerSigners.forService(name)] as const)
  const signers = Object.fromEntries(ofServices) as Deps['signers']
  const resolve = createAddressResolver(config.dnsServers ?? [])
  const opened = serviceNames.map((name) => [name, opening.use(openReplicas({ ...started, resolve }))] as const)
  const replicas = Object.fromEntries(opened) as Record<ServiceName, Replicas>
  await Promise.all(serviceNames.map((name) => replicas[name].follow(config.services[name])))
  const watch = upstreamsFile === undefined ? noUpstreams : opening.use(await watchUpstreams(upstreamsFile, { log }))
  const upstreams = opening.use(await openUpstreams({ ...started, watch, callerSigners, resolve }))
  const allReplicas = (): Replicas[] => [...Object.values(replicas), ...upstreams.replicas()]
  const gatewayMetrics = createGatewayMetrics(metrics, {
    openSockets,
    waitingRequests: () => {
      const lanes = allReplicas().flatMap(({ slots }) => Object.values(slots))
      return lanes.reduce((sum, lane) => sum + lane.waiting(), 0)
    },
  })
  const load = createAccountStateLoader({ replicas, signers, log })
  return {
    ...started,
    signers,
    signingKeys,
    upstreams,
    upstreamCallers: createUpstreamCallers({ watch, audience: publicAddress.origin, clock }),
    replicas,
    tokenCache: createTokenCache(createTokenKey(config.jwtSecret, config.previousJwtSecrets), policy.cachedTokens),
    accountStates: createAccountStates({ cache: accountStateCache, load }),
    clientAddress: createClientAddress(config.trustProxy),
    rateLimits: opening.use(await openRateLimits({ redis: config.redis, log, metrics: gatewayMetrics })),
    responseHeaders: createResponseHeaders(publicAddress),
    gatewayMetrics,
    accessLog: createAccessLog(log, { logAddresses: config.logAddresses ?? false }),
    connectionLimits: openConnectionLimits(started, gatewayMetrics, allReplicas),
    requestQuota: createQuota(capacity.connectionsPerNetwork),
    uploadLimits: createUploadLimits(capacity),
    bufferBudget: createQuota(capacity.bufferedBytesPerNetwork),
  }
}

function openConnectionLimits({ config, capacity }: Started, metrics: GatewayMetrics, allReplicas: () => Replicas[]) {
  const isProxy = createProxyCheck(config.trustProxy)
  const perReplica = capacity.connectionsPerReplica + capacity.fileConnectionsPerReplica
  const toServices = (): number => allReplicas().reduce((sum, { size }) => sum + size, 0) * perReplica
  const limit = capacity.descriptors ?? readDescriptorLimit()
  return createConnectionLimits({
    capacity,
    descriptors: () => limit - Math.min(Math.floor(limit / 2), policy.reservedDescriptors + toServices()),
    networkOf: (remote = '') => (isProxy(remote) ? undefined : clientNetwork(remote)),
    onRefused: metrics.connectionRefused,
  })
}

function serverOptions(timeouts: Timeouts): ServerOptions {
  return {
    maxHeaderSize: policy.headerBytes,
    headersTimeout: timeouts.clientHeadersMs,
    requestTimeout: timeouts.clientRequestMs,
    connectionsCheckingInterval: Math.min(5_000, timeouts.clientHeadersMs / 2),
    noDelay: true,
    // The handler checks it and sends an error body.
    requireHostHeader: false,
    // bench/NOTES.md.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: isWebSocketUpgrade,
  }
}

/** Ends sockets and requests at the same time: together they take as long as the slower one. Contract: 6, server going away; 8, drain. */
async function stop(http: Listening, upgrades: UpgradeHandler): Promise<void> {
  // Nothing has acted on an incomplete request, so the client can repeat it.
  const receiveLimit = setTimeout(() => {
    http.server.headersTimeout = 1
    http.server.requestTimeout = 1
  }, policy.drainReceiveMs)
  // The server waits for sockets too.
  await Promise.all([http[Symbol.asyncDispose](), upgrades[Symbol.asyncDispose]()])
  clearTimeout(receiveLimit)
}

/** Health and metrics have a port that the public never reaches. Contract: 8, ports. */
async function startOperatorPort(deps: Deps, lifecycle: Lifecycle): Promise<Listening> {
  const { metrics, config } = deps
  const app = new Koa()
  app.use(handleErrors(deps))
  app.use(healthEndpoints({ readiness: resourceReadiness(deps), metrics, draining: () => lifecycle.draining }))
  const address = { host: config.opsHost, port: config.opsPort, portVariable: 'OPS_PORT' }
  return await listen(app.callback(), { ...address, drainMs: policy.operatorDrainMs })
}

/** Costs up to 128 MB, and saves a fifth of the CPU time. For a process that does nothing else. bench/NOTES.md. */
export function tuneGc(): void {
  setFlagsFromString('--semi-space-growth-factor=64')
  setFlagsFromString('--no-allocation-site-pretenuring')
}
