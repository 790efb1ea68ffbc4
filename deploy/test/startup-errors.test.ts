import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { expect } from 'chai'
import { connectDatabase, migrateDatabase } from '@gatehouse/database'
import { freePort } from '@gatehouse/local-servers'
import { testDatabase, testNats, testRedis } from '@gatehouse/test-kit'
import { entrypoints, roles, type Role } from '../cluster/roles.ts'
import { startProgram } from './program.ts'

const secret = 'a secret of more than thirty-two characters'
const withDatabase = roles.filter((role) => role !== 'gateway')

describe('a process that cannot start prints one line that names the variable, and exits with 1:', function () {
  this.timeout(200_000)
  const resources = new AsyncDisposableStack()
  let environment: Record<string, string>
  let emptyDatabase: string
  let taken: Server

  before(async () => {
    const build = async (url: string): Promise<void> => {
      const orm = await connectDatabase({ url })
      await migrateDatabase(orm).finally(() => orm.close())
    }
    const database = resources.use(await testDatabase({ template: { key: 'migrated', build } }))
    emptyDatabase = resources.use(await testDatabase()).url
    const nats = resources.use(await testNats())
    const redis = resources.use(await testRedis())
    taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    environment = {
      HOST: '127.0.0.1',
      OPS_HOST: '127.0.0.1',
      OPS_PORT: '0',
      PORT: '0',
      IDENTITY_PORT: '0',
      INVITE_PORT: '0',
      SESSION_GATEWAY_PORT: '0',
      FEDERATION_FANOUT_PORT: '0',
      IDENTITY_URL: 'http://127.0.0.1:1',
      INVITE_URL: 'http://127.0.0.1:1',
      SESSION_GATEWAY_URL: 'http://127.0.0.1:1',
      FEDERATION_FANOUT_URL: 'http://127.0.0.1:1',
      PUBLIC_ORIGIN: 'http://localhost:8080',
      UPLOAD_DIR: '/tmp',
      DATABASE_URL: database.url,
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
      JWT_SECRET: secret,
      INTERNAL_SECRET: secret,
    }
  })
  after(async () => {
    taken.close()
    await resources.disposeAsync()
  })

  async function startError(file: string, changes: Record<string, string>): Promise<string> {
    const { code, stderr } = await startProgram(file, { ...environment, ...changes }).exited
    expect(code, stderr).to.equal(1)
    expect(stderr.trim().split('\n'), stderr).to.have.length(1)
    expect(stderr).to.not.include(secret)
    return stderr
  }

  it('JWT_SECRET is missing or short', async () => {
    for (const role of ['gateway', 'identity', 'session-gateway'] as const) {
      expect(await startError(entrypoints[role].file, { JWT_SECRET: '' }), role).to.match(
        /^JWT_SECRET: is required: set it to/,
      )
      expect(await startError(entrypoints[role].file, { JWT_SECRET: 'short' }), role).to.match(
        /^JWT_SECRET: must have at least 32/,
      )
    }
  })

  it('several faults: one line for each', async () => {
    const { code, stderr } = await startProgram(entrypoints.identity.file, {
      JWT_SECRET: 'short',
      REGISTRATION_OPEN: 'often',
    }).exited

    expect(code).to.equal(1)
    const variables = stderr
      .trim()
      .split('\n')
      .map((line) => line.split(':', 1)[0])
    expect(variables).to.have.members([
      'DATABASE_URL',
      'NATS_URL',
      'REDIS_URL',
      'INTERNAL_SECRET',
      'JWT_SECRET',
      'REGISTRATION_OPEN',
    ])
  })

  it('PostgreSQL cannot be reached', async () => {
    const DATABASE_URL = `postgres://user:hidden@127.0.0.1:${await freePort()}/gatehouse`
    for (const file of [entrypoints.identity.file, 'deploy/migrate.ts']) {
      const line = await startError(file, { DATABASE_URL })
      expect(line).to.match(/^DATABASE_URL: cannot reach PostgreSQL at 127\.0\.0\.1:\d+\/gatehouse; check/)
      expect(line).to.not.include('hidden')
    }
  })

  it('NATS cannot be reached', async () => {
    const NATS_URL = `nats://user:hidden@127.0.0.1:${await freePort()}`
    const line = await startError(entrypoints.invite.file, { NATS_URL })

    expect(line).to.match(/^NATS_URL: cannot reach NATS at 127\.0\.0\.1:\d+; check/)
    expect(line).to.not.include('hidden')
  })

  it('Redis cannot be reached', async () => {
    const REDIS_URL = `redis://:hidden@127.0.0.1:${await freePort()}`
    // The attempts are in its log; standard error has the one line.
    const line = await startError(entrypoints.gateway.file, { REDIS_URL })

    expect(line).to.match(/^REDIS_URL: cannot reach Redis at 127\.0\.0\.1:\d+/)
    expect(line).to.not.include('hidden')
  })

  it('migrations are pending: with the command that applies them', async () => {
    const lines = await Promise.all(
      withDatabase.slice(0, 2).map((role) => startError(entrypoints[role].file, { DATABASE_URL: emptyDatabase })),
    )

    for (const line of lines) expect(line).to.match(/^DATABASE_URL: .* pending migrations: run `npm run migrate`/)
  })

  it('a port is taken, of the service or of the gateway’s health endpoints', async () => {
    const port = String((taken.address() as AddressInfo).port)
    const variableOf = (role: Role): string => entrypoints[role].portVariable
    for (const role of ['identity', 'session-gateway', 'gateway'] as const) {
      const line = await startError(entrypoints[role].file, { [variableOf(role)]: port })
      expect(line).to.match(new RegExp(`^${variableOf(role)}: port ${port} on 127.0.0.1 is taken`))
    }
    expect(await startError(entrypoints.gateway.file, { OPS_PORT: port })).to.match(/^OPS_PORT: port .* is taken/)
  })
})
