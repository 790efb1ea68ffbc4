import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  createScratchFolder,
  findUnprivilegedUser,
  startEphemeralPostgres,
  type LocalServer,
} from '@gatehouse/local-servers'
import { expect } from 'chai'
import { connectDatabase, createClient } from '../src/index.ts'
import { listTls } from '../src/tls.ts'
import { createAuthority, type Pem } from './certificates.ts'

/** Plain connections are for the database postgres alone: the server's own start asks there. */
const hostRules = 'host postgres postgres 127.0.0.1/32 trust\nhostssl all all 127.0.0.1/32 trust\n'

type Outcome = { isEncrypted: boolean } | { refused: string }

/** Contract: 8, TLS to PostgreSQL. */
describe('the connection to PostgreSQL', () => {
  const resources = new AsyncDisposableStack()
  let folder: string
  const servers: Record<string, LocalServer> = {}
  const file = (name: string) => join(folder, name)

  before(async () => {
    folder = await createScratchFolder('tls')
    await chmod(folder, 0o755)
    const [authority, stranger] = [createAuthority('authority'), createAuthority('stranger')]
    await writeFile(file('root.crt'), authority.cert)
    await writeFile(file('stranger.crt'), stranger.cert)
    const names = ['127.0.0.1', 'localhost']
    await start('right', authority.sign({ names }))
    await start('otherName', authority.sign({ names: ['elsewhere.example'] }))
    await start('expired', authority.sign({ names, validDays: -1 }))
    servers['plain'] = resources.use(await startEphemeralPostgres())
  })
  after(() => resources.disposeAsync())

  async function start(name: string, { cert, key }: Pem): Promise<void> {
    const own = join(folder, name)
    await mkdir(own)
    const files = {
      ssl_cert_file: join(own, 'server.crt'),
      ssl_key_file: join(own, 'server.key'),
      hba_file: join(own, 'hba'),
    }
    await writeFile(files.ssl_cert_file, cert)
    await writeFile(files.ssl_key_file, key, { mode: 0o600 })
    await writeFile(files.hba_file, hostRules)
    // The server refuses the key of another user.
    const user = findUnprivilegedUser()
    if (user) await Promise.all([own, ...Object.values(files)].map((path) => chown(path, user.uid, user.gid)))
    const server = resources.use(await startEphemeralPostgres({ settings: { ssl: 'on', ...files } }))
    servers[name] = server
    const owner = await createClient(server.url, 'test')
    await owner.connect()
    await owner.query('create database secure')
    await owner.end()
  }

  function urlOf(name: string, parameters: Record<string, string>, database = 'secure'): string {
    const url = new URL(servers[name]!.url)
    url.search = String(new URLSearchParams(parameters))
    url.pathname = database
    return url.href
  }

  /** What the ORM, and a client beside it, find. */
  async function connect(url: string): Promise<Outcome> {
    const sql = 'select ssl as "isEncrypted" from pg_stat_ssl where pid = pg_backend_pid()'
    try {
      const orm = await connectDatabase({ url, connections: 1 })
      const [row] = await orm.em.fork().execute<{ isEncrypted: boolean }[]>(sql)
      await orm.close(true)
      const client = await createClient(url, 'test')
      await client.connect()
      const { rows } = await client.query<{ isEncrypted: boolean }>(sql)
      await client.end()
      expect(rows[0]).to.deep.equal(row)
      return row!
    } catch (error) {
      return { refused: (error as Error).message.replace(/^.*?\/\w+: /, '') }
    }
  }

  const root = () => ({ sslrootcert: file('root.crt') })
  const encrypted = { isEncrypted: true }
  const plain = { isEncrypted: false }

  it('is encrypted and verified as sslmode says, where the certificate is right', async () => {
    for (const sslmode of ['allow', 'prefer', 'require'])
      expect(await connect(urlOf('right', { sslmode })), sslmode).to.deep.equal(encrypted)
    for (const sslmode of ['require', 'verify-ca', 'verify-full'])
      expect(await connect(urlOf('right', { sslmode, ...root() })), sslmode).to.deep.equal(encrypted)
    expect(await connect(urlOf('right', { ssl: 'true' }))).to.deep.equal(encrypted)
    expect(await connect(urlOf('right', {}))).to.deep.equal(encrypted)
  })

  it('is never in plain text from `require` on, and is so below it where the server has no TLS', async () => {
    const refused = { refused: 'the server offers no TLS, and sslmode asks for it' }
    for (const parameters of [{ sslmode: 'require' }, { ssl: 'true' }, { sslmode: 'verify-full', ...root() }])
      expect(await connect(urlOf('plain', parameters, 'postgres'))).to.deep.equal(refused)
    for (const sslmode of ['disable', 'allow', 'prefer'])
      expect(await connect(urlOf('plain', { sslmode }, 'postgres')), sslmode).to.deep.equal(plain)
  })

  it('is refused in plain text by a server that insists on TLS', async () => {
    const outcome = await connect(urlOf('right', { sslmode: 'disable' }))

    expect(outcome)
      .to.have.property('refused')
      .that.matches(/^it refuses the connection: .*no encryption/)
    expect(await connect(urlOf('right', { sslmode: 'allow' }, 'postgres'))).to.deep.equal(plain)
  })

  it('is refused for another name by verify-full alone', async () => {
    const another = { refused: 'its certificate is for another name, and sslmode is verify-full' }

    expect(await connect(urlOf('otherName', { sslmode: 'verify-full', ...root() }))).to.deep.equal(another)
    expect(await connect(urlOf('otherName', { sslmode: 'verify-ca', ...root() }))).to.deep.equal(encrypted)
  })

  it('is refused where the certificate has expired or comes from an unknown authority, once it is verified', async () => {
    const stranger = { sslrootcert: file('stranger.crt') }
    const unknown = { refused: 'its certificate is not signed by an authority of sslrootcert' }

    expect(await connect(urlOf('expired', { sslmode: 'verify-full', ...root() }))).to.deep.equal({
      refused: 'its certificate has expired',
    })
    expect(await connect(urlOf('expired', { sslmode: 'require' }))).to.deep.equal(encrypted)
    for (const sslmode of ['require', 'verify-ca', 'verify-full'])
      expect(await connect(urlOf('right', { sslmode, ...stranger })), sslmode).to.deep.equal(unknown)
    expect(await connect(urlOf('right', { sslmode: 'prefer', ...stranger }, 'postgres'))).to.deep.equal(plain)
  })

  it('follows PGSSLMODE and its family where the URL says nothing', () => {
    const bare = 'postgres://host/db'

    expect(listTls(bare, { PGSSLMODE: 'disable' })).to.deep.equal([false])
    expect(listTls(bare, { PGSSLMODE: 'require' })).to.have.length(1)
    expect(listTls(`${bare}?sslmode=disable`, { PGSSLMODE: 'require' })).to.deep.equal([false])
    expect(listTls(`${bare}?ssl=true`, { PGSSLMODE: 'disable' }))
      .to.have.length(1)
      .and.not.include(false)
    expect(listTls(bare, { PGSSLROOTCERT: 'system' }))
      .to.have.length(1)
      .and.not.include(false)
    expect(listTls('postgres:///db?host=/run/postgresql&sslmode=require', {})).to.deep.equal([false])
    const [verified] = listTls(bare, { PGSSLMODE: 'verify-ca', PGSSLROOTCERT: file('root.crt') })
    expect(verified).to.include({ rejectUnauthorized: true })
  })

  it('when it is lost, rejects what its client is asked then, and ends no process', async () => {
    const url = urlOf('plain', { sslmode: 'disable' }, 'postgres')
    const [client, other] = [await createClient(url, 'lost'), await createClient(url, 'other')]
    await Promise.all([client.connect(), other.connect()])
    const ended = new Promise<void>((resolve) => client.once('end', resolve))

    await other.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost'`)

    await ended
    const outcome = await client.query('select 1').then(
      () => 'answered',
      (error: Error) => error.message,
    )
    expect(outcome).to.match(/not queryable$/)
    expect((await other.query('select 1 as one')).rows).to.deep.equal([{ one: 1 }])
    await Promise.all([client.end(), other.end()])
  })

  it('names a mode that does not exist and a file that is missing', () => {
    const of = (parameters: Record<string, string>) => () => listTls(urlOf('plain', parameters), {})

    expect(of({ sslmode: 'no-verify' })).to.throw('sslmode must be one of disable, allow, prefer, require')
    expect(of({ sslmode: 'verify-full', sslrootcert: '/nowhere/root.crt' })).to.throw(
      'there is no file /nowhere/root.crt',
    )
    expect(of({ sslmode: 'require', sslcert: '/nowhere/own.crt' })).to.throw('sslcert cannot be read: /nowhere/own.crt')
    expect(of({ sslmode: 'require', sslcert: file('root.crt') })).to.throw('sslcert needs sslkey')
    expect(of({ ssl: '1' })).to.throw('ssl can be true alone')
    expect(of({ sslmode: 'verify-ca', sslrootcert: 'system' })).to.throw('sslrootcert=system needs sslmode=verify-full')
  })
})
