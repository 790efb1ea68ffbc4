import { resolve } from 'node:path'
import { callerKeyLines, createSigningKeys } from '@gatehouse/auth'
import { createMemoryCache } from '@gatehouse/authority'
import { connectNats, createLocalBus, traceBus, type Bus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, prepareDatabase, urlForRole } from '@gatehouse/database'
import { startFederationFanout } from '@gatehouse/federation-fanout'
import { startGateway } from '@gatehouse/gateway'
import { startIdentity } from '@gatehouse/identity'
import { startInvite } from '@gatehouse/invite'
import { startOpenid } from '@gatehouse/openid'
import { ConfigurationError, createLog, createMetrics, openTracing } from '@gatehouse/service-kit'
import type { Log, Resources, ServiceConfig } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import type { EmbeddedConfig } from './config.ts'
import { openOperatorSocket } from './operator-socket.ts'

/** Less than a drain, so that refused requests are answered. */
const hashingDrainMs = 25_000

/** Every service in one process. It stops the gateway first, then the services, then cache, bus and database. */
export async function startEmbedded(config: EmbeddedConfig, databaseUrl: string, overrides: { log?: Log } = {}) {
  await using opening = new AsyncDisposableStack()
  const log = overrides.log ?? createLog({ level: config.logLevel, service: 'gatehouse' })
  const tracing = config.tracing && opening.use(await openTracing('gatehouse', config.tracing, log))
  await prepareDatabase(databaseUrl)
  const ofRole = urlForRole(databaseUrl, 'embedded')
  const orm = await connectDatabase({ url: ofRole, connections: 20, applicationName: 'gatehouse' })
  opening.defer(() => orm.close())
  const bus = opening.use(await openBus(config.nats, log))
  const resources: Resources = {
    ...(tracing && { tracing }),
    orm,
    bus: tracing ? traceBus(bus, tracing) : bus,
    accountStateCache: opening.use(createMemoryCache(systemClock)),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  }
  const { dataFolder, internalSecret, operatorSecret, jwtSecret, encryptionSecret, uploadDir, uploadStore } = config
  const lines = [...callerKeyLines('gateway', [internalSecret]), ...callerKeyLines('operator', [operatorSecret])]
  const ofServices = { ...config, callerKeys: { lines } }
  const { identity, gateway, services } = await startServices(opening, ofServices, resources)
  const { origin } = config.publicAddress
  const secrets = { jwtSecret, internalSecret, encryptionSecret }
  const previousEncryptionSecrets = config.previousEncryptionSecrets ?? []
  const { providersFile, reach, mail } = config
  const instance = {
    databaseUrl,
    uploadDir,
    uploadStore,
    origin,
    secrets,
    previousEncryptionSecrets,
    ...(providersFile !== undefined && { providers: { file: resolve(providersFile), reach } }),
    ...(mail && { mail }),
  }
  const keys = createSigningKeys('operator', operatorSecret)
  opening.use(await openOperatorSocket({ dataFolder, keys, services, instance, clock: systemClock, log }))
  // Before the drain of the gateway has ended.
  opening.defer(() => identity.deps.hasher.drain(hashingDrainMs))
  const open = opening.move()
  const { url, opsUrl, port } = gateway
  return { url, opsUrl, port, deps: identity.deps, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** NATS only for upstreams. Throws ConfigurationError when NATS refuses. docs/decisions/event-bus.md. */
async function openBus(nats: EmbeddedConfig['nats'], log: Log): Promise<Bus> {
  if (nats === undefined) return createLocalBus({ log })
  try {
    return await connectNats({ ...nats, name: 'gatehouse', log })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigurationError([`NATS_URL: ${reason}; check the variable and that the server runs`], { cause })
  }
}

type ServicesConfig = EmbeddedConfig & Pick<ServiceConfig, 'callerKeys'>

async function startServices(opening: AsyncDisposableStack, config: ServicesConfig, resources: Resources) {
  const internal = { ...config, host: '127.0.0.1', port: 0 }
  const identity = opening.use(await startIdentity(internal, resources))
  const invite = opening.use(await startInvite(internal, resources))
  const federation = opening.use(await startFederationFanout(internal, resources))
  const openid = opening.use(await startOpenid(internal, resources))
  const sessions = opening.use(await startSessionGateway({ ...internal, onlyNode: true }, resources))
  const services = {
    identity: [identity.url],
    invite: [invite.url],
    'session-gateway': [sessions.url],
    'federation-fanout': [federation.url],
    openid: [openid.url],
  }
  const inProcess = new Map([identity, invite, sessions, federation, openid].map(({ url, connect }) => [url, connect]))
  const gateway = opening.use(await startGateway({ ...config, services, redis: null }, resources, { inProcess }))
  return { identity, gateway, services }
}
