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
  /** By default one. */
  replicas?: Partial<Record<Role, number>>
  environment?: Record<string, string>
  /** Overrides `environment`. */
  environmentOf?: (role: Role, index: number) => Record<string, string>
  /** By default this source tree. */
  rootOf?: (role: Role, index: number) => string
  log?: LogViewMode
  /** The other gateways have the ports after it. By default free ports. */
  gatewayPort?: number
  /** The cluster starts the others, empty. */
  servers?: { postgres?: LocalServer; nats?: LocalServer; redis?: LocalServer }
}

export type Cluster = AsyncDisposable & {
  gateways: string[]
  processes: ClusterProcess[]
  postgres: LocalServer
  nats: LocalServer
  redis: LocalServer
  /** DATABASE_URL is the owner's. */
  environment: Record<string, string>
}

const postgresSettings = { max_connections: '400', synchronous_commit: 'on' }

/**
 * A distributed instance on 127.0.0.1, which ends with this process. Dispose stops the gateways first and the servers
 * last.
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

async function openServers(opening: AsyncDisposableStack, owned: Partial<Servers>): Promise<Servers> {
  const ensure = async (server: LocalServer | undefined, start: () => Promise<LocalServer>) =>
    server ?? opening.use(await start())
  const starts = [
    ensure(owned.postgres, () => startEphemeralPostgres({ settings: postgresSettings })),
    ensure(owned.nats, () => startNats()),
    ensure(owned.redis, () => startRedis()),
  ] as const
  // Those that did start are in `opening` when another throws.
  await Promise.allSettled(starts)
  const [postgres, nats, redis] = await Promise.all(starts)
  return { postgres, nats, redis }
}

function databaseUrlOf(ownerUrl: string, role: Role): string {
  return role === 'gateway' ? '' : urlForRole(ownerUrl, role)
}

/** Requests under way still reach their services. */
async function stopInOrder(processes: readonly ClusterProcess[]): Promise<void> {
  for (const role of roles.toReversed()) {
    await Promise.all(processes.filter(({ service }) => service === role).map((each) => each.stop()))
  }
}
