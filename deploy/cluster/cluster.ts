import { join, resolve } from 'node:path'
import { prepareDatabase, urlForRole } from '@gatehouse/database'
import {
  createScratchFolder,
  freePort,
  startNats,
  startEphemeralPostgres,
  startRedis,
  type LocalServer,
} from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { ClusterProcess, projectRoot } from './cluster-process.ts'
import { assignEndpoints, urlVariables } from './endpoints.ts'
import type { LogViewMode } from './log-view.ts'
import { roles, type Role } from './roles.ts'

export type { ClusterProcess } from './cluster-process.ts'
export type { Role } from './roles.ts'

export type ClusterOptions = {
  /** By default one of each. */
  replicas?: Partial<Record<Role, number>>
  /** For every process; overrides the cluster's own variables. */
  environment?: Record<string, string>
  /** For one process; overrides `environment`. */
  environmentOf?: (role: Role, index: number) => Record<string, string>
  /** The source tree that a start of this process runs, by default this one. */
  rootOf?: (role: Role, index: number) => string
  /** By default `silent`. */
  log?: LogViewMode
  /** Of the first gateway; the others listen on the ports after it. By default free ports. */
  gatewayPort?: number
  /** Servers that the caller owns. The cluster starts the others, empty, and ends them. */
  servers?: { postgres?: LocalServer; nats?: LocalServer; redis?: LocalServer }
}

export type Cluster = AsyncDisposable & {
  /** Public addresses, one for each gateway. */
  gateways: string[]
  processes: ClusterProcess[]
  postgres: LocalServer
  nats: LocalServer
  redis: LocalServer
  /** The variables of every process; DATABASE_URL is the owner's, each service has that of its role. */
  environment: Record<string, string>
}

const postgresSettings = { max_connections: '400', synchronous_commit: 'on' }

/**
 * A distributed instance on this machine: its processes and PostgreSQL, NATS and Redis, all on ports of 127.0.0.1. All of
 * it ends with this process. Dispose stops the gateways, then the services, then the servers.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  await using opening = new AsyncDisposableStack()
  const { postgres, nats, redis } = await openServers(opening, options.servers ?? {})
  await prepareDatabase(postgres.url)
  const folder = await createScratchFolder('cluster')
  const endpoints = await assignEndpoints(options, freePort)
  const environment = {
    DATABASE_URL: postgres.url,
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    JWT_SECRET: randomToken(systemRandom, 48),
    INTERNAL_SECRET: randomToken(systemRandom, 48),
    GATEHOUSE_DATA: folder,
    WEB_ROOT: resolve(projectRoot, process.env.GATEHOUSE_DATA ?? '.gatehouse', 'web'),
    HOST: '127.0.0.1',
    OPS_HOST: '127.0.0.1',
    ...urlVariables(endpoints),
    ...options.environment,
  }
  const processes = endpoints.map((endpoint, colorIndex) => {
    const own = { ...options.environment, ...options.environmentOf?.(endpoint.role, endpoint.index) }
    const database = { DATABASE_URL: databaseUrlOf(postgres.url, endpoint.role) }
    const log = { mode: options.log ?? 'silent', file: join(folder, `${endpoint.name}.log`), colorIndex }
    const root = () => options.rootOf?.(endpoint.role, endpoint.index) ?? projectRoot
    return new ClusterProcess({ endpoint, environment: { ...environment, ...database, ...own }, root, log })
  })
  opening.defer(() => stopInOrder(processes))
  const starts = processes.map((process) => process.start())
  await Promise.allSettled(starts)
  await Promise.all(starts)
  const open = opening.move()
  return {
    gateways: processes.filter(({ service }) => service === 'gateway').map(({ url }) => url),
    processes,
    postgres,
    nats,
    redis,
    environment,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type Servers = Pick<Cluster, 'postgres' | 'nats' | 'redis'>

/** Starts the servers that the caller does not own; `opening` ends them. */
async function openServers(opening: AsyncDisposableStack, owned: Partial<Servers>): Promise<Servers> {
  const ensure = async (server: LocalServer | undefined, start: () => Promise<LocalServer>) =>
    server ?? opening.use(await start())
  const starts = [
    ensure(owned.postgres, () => startEphemeralPostgres({ settings: postgresSettings })),
    ensure(owned.nats, () => startNats()),
    ensure(owned.redis, () => startRedis()),
  ] as const
  // All of them, so that those that did start are in `opening` when the fault of another is thrown.
  await Promise.allSettled(starts)
  const [postgres, nats, redis] = await Promise.all(starts)
  return { postgres, nats, redis }
}

/** Each service connects as its own role; the gateway has no database. */
function databaseUrlOf(ownerUrl: string, role: Role): string {
  return role === 'gateway' ? '' : urlForRole(ownerUrl, role)
}

/** Gateways first, so that the requests under way still reach their services. */
async function stopInOrder(processes: readonly ClusterProcess[]): Promise<void> {
  for (const role of roles.toReversed()) {
    await Promise.all(processes.filter(({ service }) => service === role).map((each) => each.stop()))
  }
}
