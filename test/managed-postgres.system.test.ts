import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { serviceNames } from '@gatehouse/contracts'
import { createScratchFolder, startEphemeralPostgres, type LocalServer } from '@gatehouse/local-servers'
import { startPgbouncer } from '@gatehouse/test-kit'
import type { Role } from '../deploy/cluster/cluster.ts'
import { makeSecrets, onDatabase } from '../deploy/test/container-form.ts'
import { postJson, startProgram } from '../deploy/test/program.ts'
import { runArguments } from '../deploy/test/run-arguments.ts'
import { startTestCluster } from '../deploy/test/test-cluster.ts'

const owner = 'the_owner'

/**
 * A PostgreSQL as providers give it: the role that migrates is no superuser, owns no database, may create neither roles
 * nor extensions, and everything goes through a pooler by session.
 */
describe('a managed PostgreSQL behind a pooler', () => {
  const scope = new AsyncDisposableStack()
  const { secret } = makeSecrets(scope)
  const ownerPassword = randomBytes(12).toString('hex')
  const passwords: Record<string, string> = { [owner]: ownerPassword }
  let postgres: LocalServer
  let pooler: LocalServer

  const serviceUrl = (role: Role, database: string): string => {
    const { username, password } = new URL(secret(`database_url_${role}`))
    return `postgres://${username}:${password}@127.0.0.1:${pooler.port}/${database}`
  }
  const ownerUrl = (database: string) => `postgres://${owner}:${ownerPassword}@127.0.0.1:${pooler.port}/${database}`

  /** What the provider's console does. */
  async function createDatabase(name: string): Promise<string> {
    await onDatabase(postgres.url, `create database ${name}`)
    const url = new URL(postgres.url)
    url.pathname = name
    await onDatabase(url.href, `grant create on schema public to ${owner}`)
    return ownerUrl(name)
  }

  before(async () => {
    postgres = scope.use(await startEphemeralPostgres({ settings: { max_connections: '120' } }))
    await onDatabase(postgres.url, `create role ${owner} login password '${ownerPassword}'`)
    await onDatabase(postgres.url, secret('database_roles.sql'))
    // That of all services in one process: the test's cluster would create it.
    await onDatabase(postgres.url, 'create role gatehouse_embedded')
    for (const role of serviceNames) {
      const { username, password } = new URL(secret(`database_url_${role}`))
      passwords[username] = password
    }
    pooler = scope.use(await startPgbouncer({ postgresPort: postgres.port, passwords }))
  })
  after(() => scope.disposeAsync())

  it('is migrated, serves, is searched, and is backed up and restored', async () => {
    const url = await createDatabase('chat')
    const migrated = await startProgram('deploy/migrate.ts', { DATABASE_URL: url }).exited
    expect(migrated.code, migrated.stderr).to.equal(0)
    const refused = await startProgram('deploy/migrate.ts', { DATABASE_URL: url.replace(ownerPassword, 'another') })
      .exited
    expect(refused.stderr).to.match(
      /cannot reach PostgreSQL at [^;]*: it refuses the connection: .*authentication failed/,
    )
    expect(migrated.stdout).to.include('migrations applied').and.not.include('without a database role')
    const folder = await createScratchFolder('managed')
    scope.defer(() => rmSync(folder, { recursive: true, force: true }))

    {
      await using cluster = await startTestCluster({
        servers: { postgres: Object.create(pooler, { url: { value: url } }) as LocalServer },
        environmentOf: (role) =>
          role === 'gateway' ? {} : { DATABASE_URL: serviceUrl(role, 'chat'), UPLOAD_DIR: folder },
      })
      const [gateway] = cluster.gateways
      const account = { username: 'alice', password: 'a long enough password' }
      const registered = await postJson(`${gateway}/api/auth/register`, account)
      expect(registered.status).to.equal(201)
      const login = await postJson(`${gateway}/api/auth/login`, account)
      expect(login.status).to.equal(200)
      const headers = { authorization: `Bearer ${String(login.body.token)}` }
      const find = async (text: string) => {
        const answer = await fetch(`${gateway}/api/admin/users?q=${text}`, { headers })
        return ((await answer.json()) as { users: unknown[] }).users.length
      }
      expect(await find('ali')).to.equal(1)
      expect(await find('lice')).to.equal(1)
      expect(await find('li')).to.equal(0)
      const backup = await runArguments(['backup', join(folder, 'archive.tar.gz')], {
        DATABASE_URL: url,
        UPLOAD_DIR: folder,
      })
      expect(backup.code, backup.errors).to.equal(0)
    }

    const restored = await createDatabase('restored')
    const target = mkdtempSync(join(tmpdir(), 'gatehouse-restored-'))
    scope.defer(() => rmSync(target, { recursive: true, force: true }))
    const restore = await runArguments(['restore', join(folder, 'archive.tar.gz')], {
      DATABASE_URL: restored,
      UPLOAD_DIR: join(target, 'uploads'),
    })
    expect(restore.code, restore.errors).to.equal(0)
    expect(await onDatabase(restored, 'select username from users')).to.deep.equal([{ username: 'alice' }])
  })
})
