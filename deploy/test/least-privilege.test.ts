import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callerKeyLines } from '@gatehouse/auth'
import { expect } from 'chai'
import { databaseServices, type DatabaseService } from '@gatehouse/database'
import { connect, Events } from 'nats'
import { WebSocket } from 'ws'
import { sessionTimeouts } from '../../libs/database/src/policy.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { roles } from '../cluster/roles.ts'
import { makeSecrets, onDatabase, startContainerForm } from './container-form.ts'
import { postJson } from './program.ts'

const account = { username: 'alice', password: 'a long enough password' }

describe('an instance with the secrets and permissions of the container files', () => {
  const scope = new AsyncDisposableStack()
  let form: Awaited<ReturnType<typeof startContainerForm>>
  let cluster: Cluster

  before(async () => {
    form = await startContainerForm(scope, { replicas: { 'session-gateway': 2 } })
    cluster = form.cluster
  })
  after(() => scope.disposeAsync())

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
    await onDatabase(form.secretsOf(service)['DATABASE_URL']!, sql)

  it('lets no service change the schema, and each what it needs of the accounts', async () => {
    const forbidden: Record<DatabaseService, string[]> = {
      identity: ['select secret from peers'],
      invite: ["update users set username = 'x'", 'select password_hash from users', 'select secret from peers'],
      'session-gateway': ['update users set password_changed_at = 0', 'select password_hash from users'],
      'federation-fanout': ['update users set is_admin = true', 'select password_hash from users', 'delete from users'],
      openid: ['update users set is_admin = true', 'select password_hash from users', 'select secret from peers'],
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
    const url = new URL(form.secretsOf('invite')['NATS_URL']!)
    const connection = await connect({ servers: url.host, user: url.username, pass: url.password, reconnect: false })
    const fault = nextFault(connection)

    connection.publish('gatehouse.event.user.password-changed.v1', '{}')

    expect(await fault).to.match(/permissions.violation/i)
    await connection.close()
  })

  it('lets identity alone create the streams of events', async () => {
    for (const service of roles.filter((name) => name !== 'identity')) {
      const url = new URL(form.secretsOf(service)['NATS_URL']!)
      const connection = await connect({ servers: url.host, user: url.username, pass: url.password, reconnect: false })
      const fault = nextFault(connection)

      connection.publish('$JS.API.STREAM.CREATE.gatehouse-events', '{}')

      expect(await fault, service).to.match(/permissions.violation/i)
      await connection.close()
    }
  })

  it('creates the secrets once, readable to their owner only', () => {
    const { secret, folder, run } = form
    const before = secret('jwt_secret')
    expect(before).to.match(/^[A-Za-z0-9]{48}$/)
    expect(statSync(folder).mode & 0o077).to.equal(0)

    run()

    expect(secret('jwt_secret')).to.equal(before)
  })

  it('makes a key for each who signs, and public keys anew at each run, and refuses an INTERNAL_SECRET that is no key', async () => {
    await using own = new AsyncDisposableStack()
    const { secret, folder, run } = makeSecrets(own)
    const put = (name: string, text: string) => {
      rmSync(join(folder, name), { force: true })
      writeFileSync(join(folder, name), text)
    }
    const linesOf = (...secrets: string[]) => [
      ...callerKeyLines('operator', [secret('operator_secret')]),
      ...callerKeyLines('gateway', secrets),
    ]
    expect(secret('caller_keys').split('\n')).to.deep.equal(linesOf(secret('internal_secret')))

    const next = secret('internal_secret')
    expect(next).to.match(/^MC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/=]{43}$/)
    const rotated = generateKeyPairSync('ed25519')
      .privateKey.export({ format: 'der', type: 'pkcs8' })
      .toString('base64')
    put('internal_secret_previous', `${rotated}\n`)
    run()
    expect(secret('internal_secret')).to.equal(next)
    expect(secret('caller_keys').split('\n')).to.deep.equal(linesOf(next, rotated))

    put('internal_secret', 's'.repeat(48))
    expect(run).to.throw("isn't a private key of Ed25519")
    expect(secret('caller_keys').split('\n')).to.deep.equal(linesOf(next, rotated))
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

async function nextFault(connection: Awaited<ReturnType<typeof connect>>): Promise<string> {
  for await (const { type, data } of connection.status()) if (type === Events.Error) return String(data)
  return ''
}
