import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { eventually } from '@gatehouse/test-kit'
import pg from 'pg'
import { FolderInUse, claimFolder, isRunning, startPostgres, type PrivateServer } from '../src/index.ts'

const password = 'a password of the database'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

describe('a PostgreSQL whose data stay', function () {
  this.timeout(120_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-kept-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))

  const start = (): Promise<PrivateServer> => startPostgres({ folder, password })

  it('has them again at the next start, synced to the disk and open to the password only', async () => {
    {
      await using first = await start()
      await query(first.url, 'create table kept as select 7 as number')
    }
    await using next = await start()

    expect(await query(next.url, 'select number from kept')).to.deep.equal([{ number: 7 }])
    expect(await query(next.url, 'show fsync')).to.deep.equal([{ fsync: 'on' }])
    const stranger = await query(next.url.replace(/:[^:@]*@/, ':guess@'), 'select 1').catch((error: unknown) => error)
    expect(stranger).to.have.property('code', '28P01')
    expect((await stat(join(folder, 'data'))).mode & 0o077).to.equal(0)
  })

  it('comes back on its port when it is killed, and stays away when it is stopped', async () => {
    await using server = await start()
    const { pid } = server

    process.kill(pid, 'SIGKILL')

    await eventually(
      'another process answers',
      async () => (await query(server.url, 'select 1')) && server.pid !== pid,
      30_000,
    )
    await server.stop()
    expect(isRunning(server.pid)).to.equal(false)
  })

  it('is taken over from an owner who was killed, and refused while the owner lives', async () => {
    const source = `
      import { startPostgres } from '@gatehouse/local-servers'
      const { pid } = await startPostgres({ folder: ${JSON.stringify(folder)}, password: ${JSON.stringify(password)} })
      console.log(pid)
      setInterval(() => undefined, 1000)`
    const owner = spawn(process.execPath, ['--input-type=module', '--eval', source], { cwd: import.meta.dirname })
    const [left] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string]
    const refused = await start().catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(FolderInUse).and.include({ ownerPid: owner.pid })

    owner.kill('SIGKILL')
    await once(owner, 'exit')
    await using server = await start()

    expect(isRunning(Number(left))).to.equal(false)
    expect(await query(server.url, 'select 1 as one')).to.deep.equal([{ one: 1 }])
  })
})

describe('a claim to a folder', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-claim-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('holds until it is given up', () => {
    const claim = claimFolder(folder)

    expect(() => claimFolder(folder)).to.throw(FolderInUse)
    claim[Symbol.dispose]()
    claimFolder(folder)[Symbol.dispose]()
  })

  it('of a process that ended is worth nothing, even when another has its number now', async () => {
    await writeFile(join(folder, 'owner'), `${process.pid} of another start\n`)

    claimFolder(folder)[Symbol.dispose]()
  })
})
