import { join, resolve } from 'node:path'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import {
  createWorkFolder,
  freePort,
  privateNats,
  privatePostgres,
  privateRedis,
  type PrivateServer,
} from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { startProcess, type ClusterProcess } from './cluster-process.ts'
import type { LogView } from './log-view.ts'
import { addressesOf, listPlaces, roles, type Role } from './places.ts'

export type { ClusterProcess } from './cluster-process.ts'
export type { Role } from './places.ts'

export type ClusterOptions = {
  /** How many of each; one where it is not said. */
  replicas?: Partial<Record<Role, number>>
  /** For every process, over what the cluster gives it. */
  environment?: Record<string, string>
  /** For one process, over that. */
  environmentOf?: (role: Role, index: number) => Record<string, string>
  log?: LogView
  /** Of the first gateway, the others on the ports after it; free ones where it is not said. */
  gatewayPort?: number
  /** Servers that the caller has started and will end; the others are started here, empty, and removed in the end. */
  servers?: { postgres?: PrivateServer; nats?: PrivateServer; redis?: PrivateServer }
}

export type Cluster = AsyncDisposable & {
  /** Public addresses, one for each gateway. */
  gateways: string[]
  processes: ClusterProcess[]
  postgres: PrivateServer
  nats: PrivateServer
  redis: PrivateServer
  /** What every process got. */
  environment: Record<string, string>
}

const projectRoot = resolve(import.meta.dirname, '../..')
const postgresSettings = { max_connections: '400', synchronous_commit: 'on' }

/**
 * A whole instance on this machine: the real processes over a real PostgreSQL, NATS and Redis, all on free ports of
 * 127.0.0.1. Nothing of it survives this process. Dispose stops the gateways, then the services, then the servers.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  await using opening = new AsyncDisposableStack()
  const { postgres, nats, redis } = await openServers(opening, options.servers ?? {})
  await migrate(postgres.url)
  const folder = await createWorkFolder('cluster')
  const places = await listPlaces(options, freePort)
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
    ...addressesOf(places),
    ...options.environment,
  }
  const starts = places.map((place, order) =>
    startProcess({
      place,
      order,
      environment: { ...environment, ...options.environmentOf?.(place.role, place.index) },
      log: options.log ?? 'silent',
      logFile: join(folder, `${place.name}.log`),
    }),
  )
  const started = (await Promise.allSettled(starts)).flatMap((start) =>
    start.status === 'fulfilled' ? start.value : [],
  )
  opening.defer(() => stopInOrder(started))
  await Promise.all(starts)
  const open = opening.move()
  return {
    gateways: started.filter(({ service }) => service === 'gateway').map(({ url }) => url),
    processes: started,
    postgres,
    nats,
    redis,
    environment,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type Servers = Pick<Cluster, 'postgres' | 'nats' | 'redis'>

/** Starts the servers that are not given; those are ended with `opening`. */
async function openServers(opening: AsyncDisposableStack, given: Partial<Servers>): Promise<Servers> {
  const ensure = async (server: PrivateServer | undefined, start: () => Promise<PrivateServer>) =>
    server ?? opening.use(await start())
  const starts = [
    ensure(given.postgres, () => privatePostgres({ settings: postgresSettings })),
    ensure(given.nats, () => privateNats()),
    ensure(given.redis, () => privateRedis()),
  ] as const
  // Those that did start are in `opening` before a failure of another is thrown.
  await Promise.allSettled(starts)
  const [postgres, nats, redis] = await Promise.all(starts)
  return { postgres, nats, redis }
}

/** What takes requests in stops first, so that none finds its service gone. */
async function stopInOrder(processes: readonly ClusterProcess[]): Promise<void> {
  for (const role of roles.toReversed()) {
    await Promise.all(processes.filter(({ service }) => service === role).map((each) => each.stop()))
  }
}

async function migrate(url: string): Promise<void> {
  const orm = await connectDatabase({ url })
  try {
    await migrateDatabase(orm)
  } finally {
    await orm.close()
  }
}
