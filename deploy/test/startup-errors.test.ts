import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { expect } from 'chai'
import { freePort } from '@gatehouse/local-servers'
import * as gateway from '@gatehouse/gateway'
import * as identity from '@gatehouse/identity'
import * as invite from '@gatehouse/invite'
import { startService, type Program, type ResourceOptions } from '@gatehouse/service-kit'
import * as sessionGateway from '@gatehouse/session-gateway'
import { migratedDatabase, startNats, startS3, testDatabase, testNats, testRedis } from '@gatehouse/test-kit'
import { entrypoints } from '../cluster/roles.ts'
import { processEnvironment, readStartErrors, startProgram } from './program.ts'
import { faultOf, faultsOf } from './start-faults.ts'

const secret = 'a secret of more than thirty-two characters'

/** What the entrypoints run. */
const starts = {
  gateway: startOf({ name: 'gateway', readConfig: gateway.readConfig, start: gateway.startGateway }),
  identity: startOf({ name: 'identity', readConfig: identity.readConfig, start: identity.startIdentity }),
  invite: startOf({ name: 'invite', readConfig: invite.readConfig, start: invite.startInvite }),
  'session-gateway': startOf({
    name: 'session-gateway',
    readConfig: sessionGateway.readConfig,
    start: sessionGateway.startSessionGateway,
  }),
}
type Role = keyof typeof starts

function startOf<C extends { host: string; port: number }, O extends ResourceOptions>(program: Program<C, O>) {
  const { signal } = new AbortController()
  return async (environment: Record<string, string>) => await startService(program, environment, signal)
}

describe('a process that cannot start prints one line that names the variable, and exits with 1:', () => {
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
      LOG_LEVEL: 'fatal',
      DATABASE_URL: database.url,
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
    }
  })
  after(async () => {
    taken.close()
    await resources.disposeAsync()
  })

  /** In this process. Other tests are of processes. */
  const start = (role: Role, changes: Record<string, string>) => starts[role]({ ...environment, ...changes })
  async function startFault(role: Role, changes: Record<string, string>): Promise<string> {
    const line = await faultOf(() => start(role, changes))
    expect(line).to.not.include(secret)
    return line
  }

  async function endOf(file: string, variables: Record<string, string>): Promise<string[]> {
    const { code, stderr } = await startProgram(file, variables).exited
    expect(code, stderr).to.equal(1)
    expect(stderr).to.not.include(secret)
    return readStartErrors(stderr)
  }

  it('JWT_SECRET is missing or short', async () => {
    for (const role of ['gateway', 'identity'] as const) {
      const missing = await startFault(role, { JWT_SECRET: '' })
      const short = await startFault(role, { JWT_SECRET: 'short' })

      expect(missing, role).to.match(/^JWT_SECRET: is required: set it to/)
      expect(short, role).to.match(/^JWT_SECRET: must have at least 32/)
    }
  })

  it('several faults: one line for each', async () => {
    const lines = await endOf(entrypoints.identity.file, {
      INTERNAL_SECRET: secret,
      JWT_SECRET: 'short',
      REGISTRATION_OPEN: 'often',
    })

    expect(lines.map((line) => line.split(':', 1)[0])).to.have.members([
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
    const [line, ...others] = await endOf('deploy/migrate.ts', { ...environment, DATABASE_URL })

    expect(others).to.deep.equal([])
    expect(line).to.match(/^DATABASE_URL: cannot reach PostgreSQL at 127\.0\.0\.1:\d+\/gatehouse; check/)
    expect(line).to.not.include('hidden')
  })

  it('NATS refuses the credentials', async () => {
    await using guarded = await startNats({ config: 'authorization { user: bob, password: "p" }' })
    const line = await startFault('invite', { NATS_URL: guarded.url.replace('nats://', 'nats://bob:hidden@') })

    expect(line).to.match(/^NATS_URL: NATS at 127\.0\.0\.1:\d+ refuses the credentials; check/)
    expect(line).to.not.include('hidden')
  })

  it('the folder of the uploads cannot be written', async () => {
    const line = await startFault('identity', { UPLOAD_DIR: `${import.meta.filename}/uploads` })

    expect(line).to.match(/^UPLOAD_DIR: cannot write to .+ \(ENOTDIR\); give/)
  })

  it('the store of uploads: each variable that is missing or malformed, and a key that S3 refuses', async () => {
    await using s3 = await startS3()
    const storeFaults = async (changes: Record<string, string>) => {
      const faults = await faultsOf(() => start('identity', { ...s3.environment, ...changes }))
      expect(faults.join()).to.not.include(s3.environment.AWS_SECRET_ACCESS_KEY)
      return faults
    }
    const unset = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_REGION: 'No', AWS_ENDPOINT_URL: 's3.example' }

    expect((await storeFaults(unset)).map((line) => line.split(':', 1)[0])).to.have.members(Object.keys(unset))
    const unknown = await storeFaults({ UPLOAD_STORE: 'ftp://x' })
    expect(unknown)
      .to.have.length(1)
      .and.match(/^UPLOAD_STORE: must be file:/)
    const refused = await storeFaults({ AWS_ACCESS_KEY_ID: 'another' })
    expect(refused)
      .to.have.length(1)
      .and.match(/^UPLOAD_STORE: s3:.* answered 403; check the bucket/)
  })

  it('migrations are pending: with the command that applies them', async () => {
    for (const role of ['identity', 'invite'] as const) {
      const line = await startFault(role, { DATABASE_URL: emptyDatabase })
      expect(line).to.match(/^DATABASE_URL: .* pending migrations: run `npm run migrate`/)
    }
  })

  it('a port is taken, of the service or of the gateway’s health endpoints', async () => {
    const port = String((taken.address() as AddressInfo).port)
    for (const role of ['identity', 'session-gateway', 'gateway'] as const) {
      const { portVariable } = entrypoints[role]
      const line = await startFault(role, { [portVariable]: port })
      expect(line).to.match(new RegExp(`^${portVariable}: port ${port} on 127.0.0.1 is taken`))
    }
    expect(await startFault('gateway', { OPS_PORT: port })).to.match(/^OPS_PORT: port .* is taken/)
  })
})
