import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { startNats, startPersistentPostgres, startRedis } from '@gatehouse/local-servers'
import pg from 'pg'
import type { ClusterOptions, Role } from '../cluster/cluster.ts'
import { readCompose, readText } from './read-manifests.ts'
import { startTestCluster } from './test-cluster.ts'

/** A folder that make-secrets.sh has filled; `upstreams` are the names that it is given. */
export function makeSecrets(scope: AsyncDisposableStack, upstreams: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
  scope.defer(() => rmSync(folder, { recursive: true, force: true }))
  const run = () => void execFileSync('sh', ['deploy/make-secrets.sh', folder, ...upstreams])
  run()
  return { folder, run, secret: (name: string): string => readFileSync(join(folder, name), 'utf8') }
}

/** The configuration of NATS in the containers, for a server on any port. */
export function natsConfigOf(secret: (name: string) => string, text = readText('deploy/nats/nats.conf')): string {
  return text
    .replace('include ./passwords.conf', secret('nats_passwords.conf'))
    .replace(/^(http|port): .*$/gm, '')
    .replace(/store_dir: .*/, '')
}

/** A cluster whose processes have the secrets of docker-compose.yml and no others, on servers configured as the containers are. */
export async function startContainerForm(scope: AsyncDisposableStack, options: ClusterOptions = {}) {
  const { folder, run, secret } = makeSecrets(scope)
  const databaseFolder = mkdtempSync(join(tmpdir(), 'gatehouse-database-'))
  scope.defer(() => rmSync(databaseFolder, { recursive: true, force: true }))
  const postgres = scope.use(
    await startPersistentPostgres({
      folder: databaseFolder,
      password: secret('postgres_password'),
      settings: { max_connections: '200' },
    }),
  )
  await onDatabase(postgres.url, secret('database_roles.sql'))
  const nats = scope.use(await startNats({ config: natsConfigOf(secret) }))
  const redis = scope.use(await startRedis({ config: secret('redis.conf') }))
  const ports = { postgres: postgres.port, nats: nats.port, redis: redis.port }

  /** Every secret of a container, by the name of its variable; servers are those of this test. */
  function secretsOf(role: Role): Record<string, string> {
    const { services, secrets } = readCompose()
    const { environment = {}, secrets: mounted = [] } = services[role]!
    const sources = mounted.map((one) => (typeof one === 'string' ? { source: one, target: one } : one))
    const files = Object.entries(environment).filter(([name]) => name.endsWith('_FILE'))
    return Object.fromEntries(
      files.map(([name, path]) => {
        const { source } = sources.find(({ target }) => target === basename(String(path)))!
        const text = secret(basename(secrets[source]!.file))
        return [
          name.slice(0, -'_FILE'.length),
          text.replace(/@(postgres|nats|redis):\d+/, (_, server: keyof typeof ports) => `@127.0.0.1:${ports[server]}`),
        ]
      }),
    )
  }

  const cluster = scope.use(
    await startTestCluster({
      ...options,
      servers: { postgres, nats, redis },
      environmentOf: (role, index) => ({ ...secretsOf(role), ...options.environmentOf?.(role, index) }),
    }),
  )
  return { cluster, folder, run, secret, secretsOf }
}

export async function onDatabase(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}
