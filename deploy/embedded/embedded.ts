import { createMemoryCache } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startFederationFanout } from '@gatehouse/federation-fanout'
import { startGateway } from '@gatehouse/gateway'
import { startIdentity } from '@gatehouse/identity'
import { startInvite } from '@gatehouse/invite'
import { createLog, createMetrics, type Log, type Resources } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import type { EmbeddedConfig } from './config.ts'

/** How long requests under way may take after a signal: short, as the operator waits for the prompt. */
const drainTimeoutMs = 2_000

/**
 * Every service in one process, over a database that the caller has started. It shuts down in this order: the gateway
 * and the session gateway at the same time; federation-fanout, invite, identity; the cache, the bus, the connections to
 * the database.
 */
export async function startEmbedded(config: EmbeddedConfig, databaseUrl: string, overrides: { log?: Log } = {}) {
  await using opening = new AsyncDisposableStack()
  const log = overrides.log ?? createLog({ level: config.logLevel, service: 'gatehouse' })
  const orm = await connectDatabase({ url: databaseUrl, connections: 20, applicationName: 'gatehouse' })
  opening.defer(() => orm.close())
  await migrateDatabase(orm)
  const resources: Resources = {
    orm,
    bus: opening.use(createLocalBus({ log })),
    accountStateCache: opening.use(createMemoryCache(systemClock)),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  }
  const { identity, gateway } = await startServices(opening, config, resources)
  const open = opening.move()
  return {
    url: gateway.url,
    opsUrl: gateway.opsUrl,
    port: gateway.port,
    deps: identity.deps,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** Each service gets the part of the configuration that it uses. */
async function startServices(opening: AsyncDisposableStack, config: EmbeddedConfig, resources: Resources) {
  const { internalSecret, jwtSecret, publicAddress, reach, jwtExpiresIn, registrationOpen, uploadDir, hashing } = config
  const internal = { host: '127.0.0.1', port: 0, drainMs: drainTimeoutMs, internalSecret }
  const accounts = { jwtSecret, jwtExpiresIn, registrationOpen, uploadDir, hashing, publicAddress, reach }
  const identity = opening.use(await startIdentity({ ...internal, ...accounts }, resources))
  const invite = opening.use(await startInvite({ ...internal, publicAddress }, resources))
  const federation = opening.use(await startFederationFanout({ ...internal, publicAddress, reach }, resources))

  // At the same time: the gateway forwards the close frames with which the session gateway drains its sockets.
  const socketServices: AsyncDisposable[] = []
  opening.defer(() => disposeTogether(socketServices))
  const sessions = await startSessionGateway({ ...internal, jwtSecret, onlyNode: true }, resources)
  socketServices.push(sessions)
  const services = {
    identity: [identity.url],
    invite: [invite.url],
    'session-gateway': [sessions.url],
    'federation-fanout': [federation.url],
  }
  const { host, port, opsHost, opsPort, trustProxy, webRoot } = config
  const listeners = { host, port, opsHost, opsPort, drainMs: drainTimeoutMs }
  const gateway = await startGateway(
    { ...listeners, internalSecret, jwtSecret, publicAddress, trustProxy, webRoot, services, redisUrl: null },
    resources,
    { timeouts: { drainTimeoutMs } },
  )
  socketServices.push(gateway)
  return { identity, gateway }
}

async function disposeTogether(services: readonly AsyncDisposable[]): Promise<void> {
  const disposals = services.map((service) => service[Symbol.asyncDispose]())
  await Promise.allSettled(disposals)
  await Promise.all(disposals)
}
