import { join, resolve } from 'node:path'
import { callerKeyLines } from '@gatehouse/auth'
import { prepareDatabase, urlForRole } from '@gatehouse/database'
import { createScratchFolder, freePort, startEphemeralPostgres, startNats, startRedis } from '@gatehouse/local-servers'
import type { LocalServer } from '@gatehouse/local-servers'
import { randomToken, systemRandom } from '@gatehouse/runtime'
import { listSettings } from '@gatehouse/service-kit'
import { ClusterProcess, projectRoot, type LogViewMode } from './cluster-process.ts'
import { assignEndpoints, urlVariables, roles, type Role } from './roles.ts'

export type { ClusterProcess } from './cluster-process.ts'
export type { Role } from './roles.ts'

export type ClusterOptions = {
  /** By default one. */
  replicas?: Partial<Record<Role, number>>
  environment?: Record<string, string>
  /** Overrides `environment`. Asked at each start. */
  environmentOf?: (role: Role, index: number) => Record<string, string>
  /** By default this source tree. */
  rootOf?: (role: Role, index: number) => string
  /** From this source tree, by role. By default its entrypoints. */
  programs?: Partial<Record<Role, string>>
  log?: LogViewMode
  /** The other gateways have the ports after it. By default free ports. */
  gatewayPort?: number
  /** By default any free port. */
  nextPort?: (name: string) => Promise<number>
  /** Processes that nobody stopped start again. */
  restarts?: boolean
  /** The cluster starts the others, empty. */
  servers?: Partial<Servers>
}

type Servers = { postgres: LocalServer; nats: LocalServer; redis: LocalServer }

export type Cluster = Awaited<ReturnType<typeof startCluster>>

export const postgresSettings = { max_connections: '400', synchronous_commit: 'on' }

/** A distributed instance on 127.0.0.1, which ends with this process. Dispose stops gateways first and servers last. */
export async function startCluster(options: ClusterOptions = {}) {
  await using opening = new AsyncDisposableStack()
  const { postgres, nats, redis } = await openServers(opening, options.servers ?? {})
  await prepareDatabase(postgres.url)
  const folder = await createScratchFolder('cluster')
  const endpoints = await assignEndpoints(options, options.nextPort ?? (() => freePort()))
  const given = {
    DATABASE_URL: postgres.url,
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    JWT_SECRET: randomToken(systemRandom, 48),
    INTERNAL_SECRET: randomToken(systemRandom, 48),
    ENCRYPTION_SECRET: randomToken(systemRandom, 48),
    OPERATOR_SECRET: randomToken(systemRandom, 48),
    GATEHOUSE_DATA: folder,
    WEB_ROOT: resolve(projectRoot, process.env.GATEHOUSE_DATA ?? '.gatehouse', 'web'),
    HOST: '127.0.0.1',
    OPS_HOST: '127.0.0.1',
    ...urlVariables(endpoints),
    ...options.environment,
  }
  /** DATABASE_URL is the owner's. A process has what the table of settings lets it read. */
  const environment: Record<string, string> = { CALLER_KEYS: callerKeysOf(given), ...given }
  const processes = endpoints.map((endpoint, colorIndex) => {
    const { role, index, name } = endpoint
    const database = role === 'gateway' ? '' : urlForRole(postgres.url, role)
    const shared = readableBy(role, { ...environment, DATABASE_URL: database, ...options.environment })
    return new ClusterProcess({
      endpoint,
      environment: () => ({ ...shared, ...options.environmentOf?.(role, index) }),
      root: () => options.rootOf?.(role, index) ?? projectRoot,
      program: options.programs?.[role],
      log: { mode: options.log ?? 'silent', file: join(folder, `${name}.log`), colorIndex },
      restarts: options.restarts ?? false,
    })
  })
  opening.defer(() => stopInOrder(processes))
  const starts = processes.map((process) => process.start())
  await Promise.allSettled(starts)
  await Promise.all(starts)
  const open = opening.move()
  const gateways = processes.filter(({ service }) => service === 'gateway').map(({ url }) => url)
  const started = { gateways, processes, postgres, nats, redis, environment }
  return { ...started, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

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

function callerKeysOf(given: Record<string, string>): string {
  const secretsOf = (name: string) => (given[name] ?? '').split('\n').filter((line) => line !== '')
  const ofGateway = [...secretsOf('INTERNAL_SECRET'), ...secretsOf('INTERNAL_SECRET_PREVIOUS')]
  const ofOperator = secretsOf('OPERATOR_SECRET')
  return [...callerKeyLines('gateway', ofGateway), ...callerKeyLines('operator', ofOperator)].join('\n')
}

/** Without the settings that others read. Design: invariant 6. */
function readableBy(role: Role, environment: Record<string, string>): Record<string, string> {
  const others = listSettings().filter(({ readers }) => !readers.includes(role))
  const hidden = new Set(others.flatMap(({ name }) => [name, `${name}_FILE`]))
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !hidden.has(name)))
}

/** Requests under way still reach their services. */
async function stopInOrder(processes: readonly ClusterProcess[]): Promise<void> {
  for (const role of roles.toReversed()) {
    await Promise.all(processes.filter(({ service }) => service === role).map((each) => each.stop()))
  }
}
