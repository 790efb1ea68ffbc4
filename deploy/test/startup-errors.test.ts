import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { expect } from 'chai'
import { freePort } from '@gatehouse/local-servers'
import { migratedDatabase, startNats, startS3, testDatabase, testNats, testRedis } from '@gatehouse/test-kit'
import { entrypoints, roles, type Role } from '../cluster/roles.ts'
import { processEnvironment, readStartErrors, startProgram } from './program.ts'

const secret = 'a secret of more than thirty-two characters'
const withDatabase = roles.filter((role) => role !== 'gateway')

describe('a process that cannot start prints one line that names the variable, and exits with 1:', function () {
  this.timeout(200_000)
  const resources = new AsyncDisposableStack()
  let environment: Record<string, string>
  let emptyDatabase: string
  let taken: Server

  before(async () => {
    const database = resources.use(await migratedDatabase())
    emptyDatabase = resources.use(await testDatabase()).url
    const nats = resources.use(await testNats())
    const redis = resources.use(await testRedis())
    taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    environment = {
      ...processEnvironment(secret),
      DATABASE_URL: database.url,
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
    }
  })
  after(async () => {
    taken.close()
    await resources.disposeAsync()
  })

  async function startError(file: string, changes: Record<string, string>): Promise<string> {
    const { code, stderr } = await startProgram(file, { ...environment, ...changes }).exited
    expect(code, stderr).to.equal(1)
    expect(stderr).to.not.include(secret)
    const messages = readStartErrors(stderr)
    expect(messages, stderr).to.have.length(1)
    return messages[0]!
  }

  it('JWT_SECRET is missing or short', async () => {
    for (const role of ['gateway', 'identity'] as const) {
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
    const variables = readStartErrors(stderr).map((line) => line.split(':', 1)[0])
    expect(variables).to.have.members([
      'DATABASE_URL',
      'NATS_URL',
      'REDIS_URL',
      'CALLER_KEYS',
      'ENCRYPTION_SECRET',
      'JWT_SECRET',
      'REGISTRATION_OPEN',
    ])
  })

  it('PostgreSQL cannot be reached by migrate, which nobody waits for', async () => {
    const DATABASE_URL = `postgres://user:hidden@127.0.0.1:${await freePort()}/gatehouse`
    const line = await startError('deploy/migrate.ts', { DATABASE_URL })

    expect(line).to.match(/^DATABASE_URL: cannot reach PostgreSQL at 127\.0\.0\.1:\d+\/gatehouse; check/)
    expect(line).to.not.include('hidden')
  })

  it('NATS refuses the credentials', async () => {
    await using guarded = await startNats({ config: 'authorization { user: bob, password: "p" }' })
    const line = await startError(entrypoints.invite.file, {
      NATS_URL: guarded.url.replace('nats://', 'nats://bob:hidden@'),
    })

    expect(line).to.match(/^NATS_URL: NATS at 127\.0\.0\.1:\d+ refuses the credentials; check/)
    expect(line).to.not.include('hidden')
  })

  it('the folder of the uploads cannot be written', async () => {
    const line = await startError(entrypoints.identity.file, { UPLOAD_DIR: `${import.meta.filename}/uploads` })

    expect(line).to.match(/^UPLOAD_DIR: cannot write to .+ \(ENOTDIR\); give/)
  })

  it('the store of uploads: each variable that is missing or malformed, and a key that S3 refuses', async () => {
    await using s3 = await startS3()
    const faultsOf = async (changes: Record<string, string>) => {
      const given = { ...environment, ...s3.environment, ...changes }
      const { code, stderr } = await startProgram(entrypoints.identity.file, given).exited
      expect(code, stderr).to.equal(1)
      expect(stderr).to.not.include(s3.environment.AWS_SECRET_ACCESS_KEY)
      return readStartErrors(stderr)
    }
    const unset = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_REGION: 'No', AWS_ENDPOINT_URL: 's3.example' }

    expect((await faultsOf(unset)).map((line) => line.split(':', 1)[0])).to.have.members(Object.keys(unset))
    expect(await faultsOf({ UPLOAD_STORE: 'ftp://x' }))
      .to.have.length(1)
      .and.match(/^UPLOAD_STORE: must be file:/)
    const refused = await faultsOf({ AWS_ACCESS_KEY_ID: 'another' })
    expect(refused)
      .to.have.length(1)
      .and.match(/^UPLOAD_STORE: s3:.* answered 403; check the bucket/)
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
