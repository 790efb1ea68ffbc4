import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { databaseServices, type DatabaseService } from '@gatehouse/database'
import { startNats, startPersistentPostgres, startRedis } from '@gatehouse/local-servers'
import { connect, Events } from 'nats'
import pg from 'pg'
import { WebSocket } from 'ws'
import { sessionTimeouts } from '../../libs/database/src/policy.ts'
import { startCluster, type Cluster } from '../cluster/cluster.ts'
import { postJson } from './program.ts'
import { readText } from './read-manifests.ts'

const account = { username: 'alice', password: 'a long enough password' }

describe('an instance with the secrets and permissions of the container files', function () {
  this.timeout(200_000)
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'))
  const databaseFolder = mkdtempSync(join(tmpdir(), 'gatehouse-database-'))
  const secret = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const resources = new AsyncDisposableStack()
  let cluster: Cluster

  /** The URL of a secret, with the host replaced by this port of 127.0.0.1. */
  function localUrl(name: string, port: number): string {
    const url = new URL(secret(name))
    return url.href.replace(url.host, `127.0.0.1:${port}`)
  }

  before(async () => {
    execFileSync('sh', ['deploy/make-secrets.sh', folder])
    const databaseUrl = (service: DatabaseService) => localUrl(`database_url_${service}`, postgres.port)
    const postgres = resources.use(
      await startPersistentPostgres({
        folder: databaseFolder,
        password: secret('postgres_password'),
        settings: { max_connections: '200' },
      }),
    )
    await onDatabase(postgres.url, secret('database_roles.sql'))
    const natsConfig = readText('deploy/nats/nats.conf')
      .replace('include ./passwords.conf', secret('nats_passwords.conf'))
      .replace(/^(http|port): .*$/gm, '')
      .replace(/store_dir: .*/, '')
    const nats = resources.use(await startNats({ config: natsConfig }))
    const redis = resources.use(await startRedis({ config: secret('redis.conf') }))
    cluster = resources.use(
      await startCluster({
        servers: { postgres, nats, redis },
        replicas: { 'session-gateway': 2 },
        environment: {
          REDIS_URL: localUrl('redis_url', redis.port),
          JWT_SECRET: secret('jwt_secret'),
          INTERNAL_SECRET: secret('internal_secret'),
        },
        environmentOf: (role) => ({
          NATS_URL: localUrl(`nats_url_${role}`, nats.port),
          ...(role !== 'gateway' && { DATABASE_URL: databaseUrl(role) }),
        }),
      }),
    )
  })
  after(async () => {
    await resources.disposeAsync()
    for (const each of [folder, databaseFolder]) rmSync(each, { recursive: true, force: true })
  })

  it('closes the sockets on every session gateway when an admin resets the password', async () => {
    const [gateway] = cluster.gateways
    const admin = await postJson(`${gateway}/api/auth/register`, { ...account, username: 'admin' })
    const member = await postJson(`${gateway}/api/auth/register`, account)
    expect([admin.status, member.status]).to.deep.equal([201, 201])
    const sockets = await Promise.all([1, 2, 3, 4].map(() => openSocket(gateway!, String(member.body.token))))
    const closes = sockets.map((socket) => once(socket, 'close'))

    const { id } = member.body.user as { id: string }
    const authorization = `Bearer ${String(admin.body.token)}`
    const reset = await postJson(`${gateway}/api/admin/users/${id}/reset-password`, {}, { authorization })

    expect(reset.status).to.equal(200)
    expect((await Promise.all(closes)).map(([code]) => code as number)).to.deep.equal([4010, 4010, 4010, 4010])
  })

  const asService = async (service: DatabaseService, sql: string) =>
    await onDatabase(localUrl(`database_url_${service}`, cluster.postgres.port), sql)

  it('lets no service change the schema, and each what it needs of the accounts', async () => {
    const forbidden: Record<DatabaseService, string[]> = {
      identity: ['select secret from peers'],
      invite: ["update users set username = 'x'", 'select password_hash from users', 'select secret from peers'],
      'session-gateway': ['update users set password_changed_at = 0', 'select password_hash from users'],
      'federation-fanout': ['update users set is_admin = true', 'select password_hash from users', 'delete from users'],
    }
    const schemaChanges = ['drop table users', 'create table own (x text)', 'alter table users add column x text']
    for (const service of databaseServices) {
      for (const sql of [...schemaChanges, ...forbidden[service]]) {
        const refused = await asService(service, sql).catch((error: unknown) => error)
        expect(refused, `${service}: ${sql}`).to.have.property('code', '42501')
      }
      await asService(service, 'select id, is_admin from users for share')
    }
  })

  it('bounds what each service waits for, as the project’s own clients do', async () => {
    for (const service of databaseServices) {
      for (const [name, ms] of Object.entries(sessionTimeouts)) {
        const sql = `select extract(epoch from current_setting('${name}')::interval) as seconds`
        const [row] = await asService(service, sql)
        expect(Number(row?.seconds) * 1_000, `${service}: ${name}`).to.equal(ms)
      }
    }
  })

  it('lets no service publish to the subjects of another one', async () => {
    const url = new URL(localUrl('nats_url_invite', cluster.nats.port))
    const connection = await connect({ servers: url.host, user: url.username, pass: url.password, reconnect: false })
    const fault = nextFault(connection)

    connection.publish('gatehouse.event.user.password-changed.v1', '{}')

    expect(await fault).to.match(/permissions.violation/i)
    await connection.close()
  })

  it('creates the secrets once, readable to their owner only', () => {
    const before = secret('jwt_secret')
    expect(before).to.match(/^[A-Za-z0-9]{48}$/)
    expect(statSync(folder).mode & 0o077).to.equal(0)

    execFileSync('sh', ['deploy/make-secrets.sh', folder])

    expect(secret('jwt_secret')).to.equal(before)
  })
})

async function openSocket(gateway: string, token: string): Promise<WebSocket> {
  const socket = new WebSocket(`${gateway.replace('http', 'ws')}/ws`)
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'auth', token }))
  const [message] = (await once(socket, 'message')) as [Buffer]
  expect(JSON.parse(message.toString())).to.have.property('type', 'ready')
  return socket
}

async function onDatabase(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

async function nextFault(connection: Awaited<ReturnType<typeof connect>>): Promise<string> {
  for await (const { type, data } of connection.status()) if (type === Events.Error) return String(data)
  return ''
}
