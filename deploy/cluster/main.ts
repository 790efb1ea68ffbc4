// `npm run cluster`: a distributed instance on this machine, with the logs of all its processes in this terminal.
import { join, resolve } from 'node:path'
import { startNats, startRedis, startPersistentPostgres, type LocalServer } from '@gatehouse/local-servers'
import { ConfigurationError, runUntilStopped } from '@gatehouse/service-kit'
import { explainDatabaseError } from '../embedded/explain-database-error.ts'
import { loadOrCreateSecrets } from '../embedded/secrets.ts'
import { startCluster, type Cluster } from './cluster.ts'
import { readClusterConfig, type ClusterConfig } from './config.ts'

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
    const postgres = opening.use(await openPostgres(folder, secrets.databasePassword))
    const nats = opening.use(await startNats({ folder: join(folder, 'nats') }))
    const redis = opening.use(await startRedis())
    return opening.use(
      await startCluster({
        replicas: config.replicas,
        gatewayPort: config.port,
        log: 'pretty',
        servers: { postgres, nats, redis },
        environment: {
          JWT_SECRET: secrets.jwtSecret,
          INTERNAL_SECRET: secrets.internalSecret,
          UPLOAD_DIR: join(folder, 'uploads'),
          WEB_ROOT: resolve(config.dataFolder, 'web'),
          ...config.forwarded,
        },
      }),
    )
  } catch (cause) {
    throw new ConfigurationError([(cause as Error).message], { cause })
  }
}

async function openPostgres(folder: string, password: string): Promise<LocalServer> {
  try {
    return await startPersistentPostgres({
      folder: join(folder, 'postgres'),
      password,
      settings: { max_connections: '200' },
    })
  } catch (cause) {
    throw new ConfigurationError([`GATEHOUSE_DATA: ${explainDatabaseError(cause, folder)}`], { cause })
  }
}

function startMessage(cluster: Cluster, config: ClusterConfig): string {
  const gateways = cluster.gateways.map((url) => `  gateway    ${url}`)
  const others = cluster.processes.map(({ service, index, opsUrl, pid }) => {
    return `  ${`${service}-${index}`.padEnd(22)} ${opsUrl}/readyz  /metrics  (process ${pid})`
  })
  return [
    'The cluster is up.',
    ...gateways,
    `  postgres   ${new URL(cluster.postgres.url).host}   nats ${new URL(cluster.nats.url).host}   redis ${new URL(cluster.redis.url).host}`,
    `  data       ${resolve(config.dataFolder, 'cluster')}`,
    ...others,
    'Ctrl-C stops all of it.',
  ].join('\n')
}
