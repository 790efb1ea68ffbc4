// `npm run cluster`: a distributed instance on this machine, with the logs of all its processes in this terminal.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createSigningKeys } from '@gatehouse/auth'
import { replicasOfServices } from '@gatehouse/contracts'
import { startNats, startRedis, freePort } from '@gatehouse/local-servers'
import { systemClock } from '@gatehouse/runtime'
import {
  ConfigurationError,
  createLog,
  readVariables,
  settings,
  runUntilStopped,
  uploadConfig,
  uploadSettings,
} from '@gatehouse/service-kit'
import { startCluster, type Cluster } from './cluster.ts'
import { readClusterConfig, type ClusterConfig } from './config.ts'
import { loadOrCreateSecrets, openPostgres } from '../embedded/data-folder.ts'
import { openOperatorSocket } from '../embedded/operator-socket.ts'

await runUntilStopped('cluster', async () => {
  const config = readClusterConfig(process.argv.slice(2), process.env)
  await using opening = new AsyncDisposableStack()
  const cluster = await openCluster(opening, config)
  process.stdout.write(`\n${startMessage(cluster, config)}\n\n`)
  return opening.move()
})

async function openCluster(opening: AsyncDisposableStack, config: ClusterConfig): Promise<Cluster> {
  const folder = resolve(config.dataFolder, 'cluster')
  const secrets = loadOrCreateSecrets(folder)
  try {
    const nextPort = openPorts(folder)
    const database = { name: 'postgres', password: secrets.databasePassword, settings: { max_connections: '200' } }
    const postgres = opening.use(await openPostgres(folder, { ...database, port: await nextPort('postgres') }))
    const nats = opening.use(await startNats({ folder: join(folder, 'nats'), port: await nextPort('nats') }))
    const redis = opening.use(await startRedis({ port: await nextPort('redis') }))
    const cluster = opening.use(
      await startCluster({
        replicas: config.replicas,
        gatewayPort: config.port,
        log: 'pretty',
        restarts: true,
        nextPort,
        servers: { postgres, nats, redis },
        environment: {
          JWT_SECRET: secrets.jwtSecret,
          INTERNAL_SECRET: secrets.internalSecret,
          OPERATOR_SECRET: secrets.operatorSecret,
          ENCRYPTION_SECRET: secrets.encryptionSecret,
          UPLOAD_DIR: join(folder, 'uploads'),
          PUBLIC_ORIGIN: `http://localhost:${config.port}`,
          WEB_ROOT: resolve(config.dataFolder, 'web'),
          ...config.forwarded,
        },
      }),
    )
    opening.use(await openCommandLine(cluster, folder))
    return cluster
  } catch (cause) {
    throw new ConfigurationError([(cause as Error).message], { cause })
  }
}

/** `gatehouse` finds the cluster by its folder, as it finds an embedded instance. */
async function openCommandLine({ environment, postgres, nats, redis }: Cluster, folder: string) {
  const valueOf = (name: string): string => environment[name] ?? ''
  const { ENCRYPTION_SECRET_PREVIOUS } = settings
  const given = readVariables(environment, {
    ...uploadSettings,
    ENCRYPTION_SECRET_PREVIOUS: ENCRYPTION_SECRET_PREVIOUS.kind,
  })
  return await openOperatorSocket({
    dataFolder: folder,
    keys: createSigningKeys('operator', valueOf('OPERATOR_SECRET')),
    services: replicasOfServices(environment),
    instance: {
      databaseUrl: postgres.url,
      servers: { nats: nats.url, redis: redis.url },
      ...uploadConfig(given, folder),
      origin: valueOf('PUBLIC_ORIGIN'),
      secrets: {
        jwtSecret: valueOf('JWT_SECRET'),
        internalSecret: valueOf('INTERNAL_SECRET'),
        encryptionSecret: valueOf('ENCRYPTION_SECRET'),
      },
      previousEncryptionSecrets: given.ENCRYPTION_SECRET_PREVIOUS,
    },
    clock: systemClock,
    log: createLog({ level: 'info', service: 'cluster' }),
  })
}

function startMessage(cluster: Cluster, config: ClusterConfig): string {
  const others = cluster.processes.map(({ service, index, opsUrl, pid }) => {
    return `  ${`${service}-${index}`.padEnd(22)} ${opsUrl}/readyz  /metrics  (process ${pid})`
  })
  const valueOf = (name: string) => cluster.environment[name] ?? 'none'
  const hostOf = ({ url }: { url: string }) => new URL(url).host
  return [
    'The cluster is up.',
    ...cluster.gateways.map((url) => `  gateway    ${url}`),
    `  postgres   ${hostOf(cluster.postgres)}   nats ${hostOf(cluster.nats)}   redis ${hostOf(cluster.redis)}`,
    `  data       ${resolve(config.dataFolder, 'cluster')}`,
    '  For services behind the gateway (docs/integrate/start.md):',
    `  PUBLIC_ORIGIN=${valueOf('PUBLIC_ORIGIN')}   the issuer of statements`,
    `  NATS_URL=${cluster.nats.url}   without a user`,
    `  GATEHOUSE_UPSTREAMS=${valueOf('GATEHOUSE_UPSTREAMS')}`,
    `  keys       ${cluster.gateways[0]}/api/upstream-keys`,
    ...others,
    'Ctrl-C stops all of it.',
  ].join('\n')
}

/** The same ports at each start, so that what is attached to them finds them again. Another one where one is taken. */
function openPorts(folder: string): (name: string) => Promise<number> {
  const file = join(folder, 'ports.json')
  const known = readPorts(file)
  return async (name) => {
    const port = await freePort(known[name])
    known[name] = port
    writeFileSync(file, `${JSON.stringify(known, null, 2)}\n`)
    return port
  }
}

function readPorts(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}
