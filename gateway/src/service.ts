import type { ServerOptions } from 'node:http'
import { createAccountStates, createCallerKey, createTokenKey } from '@gatehouse/auth'
import { listen, type EdgePorts } from '@gatehouse/service-kit'
import { answerRequest } from './answer-request.ts'
import { createClientAddress } from './client-address.ts'
import { answerClientErrors } from './client-errors.ts'
import type { GatewayConfig } from './config.ts'
import type { Deps } from './deps.ts'
import { createEdgeMetrics } from './edge-metrics.ts'
import { feedAccountStates } from './feed-account-states.ts'
import { openReplicas } from './forwarding/replicas.ts'
import { loadAccountStates } from './load-account-states.ts'
import { startOperations } from './operations.ts'
import { patience as usualPatience, policy, type Patience } from './policy.ts'
import { openRateLimits } from './rate-limits.ts'
import { rememberTokens } from './remembered-tokens.ts'
import { isSocketRequest, takeUpgrades } from './sockets/upgrade.ts'
import { createStandingHeaders } from './standing-headers.ts'
import { openWebFiles } from './web/web-files.ts'

export { readConfig, type GatewayConfig } from './config.ts'
export { enlargeYoungGeneration } from './young-generation.ts'

/** Starts the gateway: the one origin that browsers, clients of other instances and peers see. */
export async function startGateway(
  config: GatewayConfig,
  ports: EdgePorts,
  overrides: { patience?: Partial<Patience> } = {},
) {
  await using opening = new AsyncDisposableStack()
  const patience = { ...usualPatience, ...overrides.patience }
  const callerKey = createCallerKey(config.internalSecret)
  const replicas = openServices(config, opening, { ...ports, patience })
  const load = loadAccountStates({ ...ports, callerKey, replicas })
  let openSockets = (): number => 0
  let draining = (): boolean => false
  const deps: Deps = {
    ...ports,
    config,
    patience,
    callerKey,
    replicas,
    findToken: rememberTokens(createTokenKey(config.jwtSecret), policy.rememberedTokens),
    accountStates: createAccountStates({ store: ports.store, load }),
    clientAddress: createClientAddress(config.trustProxy),
    rateLimits: opening.use(await openRateLimits({ redisUrl: config.redisUrl, log: ports.log })),
    standing: createStandingHeaders(config.publicAddress),
    edgeMetrics: createEdgeMetrics(ports.metrics, () => openSockets()),
    web: openWebFiles(config.webRoot, ports.clock),
  }
  opening.use(await feedAccountStates(deps))
  const operations = opening.use(await startOperations(deps, () => draining()))
  const http = await listen((request, response) => answerRequest(deps, request, response), {
    ...config,
    server: serverOptions(patience),
  })
  const upgrades = takeUpgrades(deps)
  openSockets = upgrades.open
  draining = http.draining
  // Both at the same time: a socket is a connection, and the server closes when it has none.
  opening.defer(async () => void (await Promise.all([upgrades[Symbol.asyncDispose](), http[Symbol.asyncDispose]()])))
  http.server.on('upgrade', upgrades.take)
  http.server.on('checkContinue', (request, response) => void http.server.emit('request', request, response))
  http.server.timeout = patience.clientRequestMs
  answerClientErrors(http.server)
  const open = opening.move()
  return { ...http, opsUrl: operations.url, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Fast paths are Node's; what is stricter than usual keeps slow and endless requests out. */
function serverOptions(patience: Patience): ServerOptions {
  return {
    maxHeaderSize: policy.headerBytes,
    headersTimeout: patience.clientHeadersMs,
    requestTimeout: patience.clientRequestMs,
    connectionsCheckingInterval: Math.min(5_000, patience.clientHeadersMs / 2),
    noDelay: true,
    shouldUpgradeCallback: isSocketRequest,
  } as ServerOptions
}

type Needs = Parameters<typeof openReplicas>[1]

function openServices(config: GatewayConfig, opening: AsyncDisposableStack, needs: Needs): Deps['replicas'] {
  const open = (origins: readonly string[]) => opening.use(openReplicas(origins, needs))
  return {
    identity: open(config.services.identity),
    invite: open(config.services.invite),
    'session-gateway': open(config.services['session-gateway']),
    'federation-fanout': open(config.services['federation-fanout']),
  }
}
