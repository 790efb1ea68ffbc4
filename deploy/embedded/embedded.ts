import { createMemoryStore } from '@gatehouse/auth'
import { createLocalBus } from '@gatehouse/bus'
import { systemClock, systemRandom } from '@gatehouse/runtime'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { startFederationFanout } from '@gatehouse/federation-fanout'
import { startGateway } from '@gatehouse/gateway'
import { startIdentity } from '@gatehouse/identity'
import { startInvite } from '@gatehouse/invite'
import { createLog, createMetrics, type Log, type Ports } from '@gatehouse/service-kit'
import { startSessionGateway } from '@gatehouse/session-gateway'
import type { EmbeddedConfig } from './config.ts'

/** Whoever presses Ctrl-C is waiting: what is under way gets this long to end. */
const DRAIN_MS = 2_000

/** Every service in one process, over a database that the caller has started. */
export async function startEmbedded(config: EmbeddedConfig, databaseUrl: string, overrides: { log?: Log } = {}) {
  await using opening = new AsyncDisposableStack()
  const log = overrides.log ?? createLog({ level: config.logLevel, service: 'gatehouse' })
  const orm = await connectDatabase({ url: databaseUrl, connections: 20, applicationName: 'gatehouse' })
  opening.defer(() => orm.close())
  await migrateDatabase(orm)
  const ports: Ports = {
    orm,
    bus: opening.use(createLocalBus({ log })),
    store: opening.use(createMemoryStore(systemClock)),
    clock: systemClock,
    random: systemRandom,
    log,
    metrics: createMetrics(),
  }
  const inside = { ...config, host: '127.0.0.1', port: 0, drainMs: DRAIN_MS }
  const identity = opening.use(await startIdentity(inside, ports))
  const invite = opening.use(await startInvite(inside, ports))
  const sessions = opening.use(await startSessionGateway({ ...inside, onlyNode: true }, ports))
  const federation = opening.use(await startFederationFanout(inside, ports))
  const services = {
    identity: [identity.url],
    invite: [invite.url],
    'session-gateway': [sessions.url],
    'federation-fanout': [federation.url],
  }
  const outside = { ...config, services, redisUrl: null, drainMs: DRAIN_MS }
  const gateway = opening.use(await startGateway(outside, ports, { patience: { farewellMs: DRAIN_MS } }))
  // Together and first: the gateway carries the words with which the session gateway lets its clients go.
  opening.defer(async () => {
    await Promise.all([sessions[Symbol.asyncDispose](), gateway[Symbol.asyncDispose]()])
  })
  const open = opening.move()
  return {
    url: gateway.url,
    opsUrl: gateway.opsUrl,
    port: gateway.port,
    deps: identity.deps,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
