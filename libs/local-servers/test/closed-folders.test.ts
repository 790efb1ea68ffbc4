import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { reachablePrograms } from '../src/closed-folders.ts'
import { startPersistentPostgres } from '../src/index.ts'
import { query } from './query.ts'

const password = 'a password of the database'
const isRoot = process.getuid?.() === 0 && process.platform === 'linux'

describe('PostgreSQL of a process that is root', function () {
  let outer: string
  let relocated: string | undefined
  beforeEach(async function () {
    if (!isRoot) this.skip()
    outer = await mkdtemp(join(tmpdir(), 'gatehouse-closed-'))
    relocated = undefined
  })
  afterEach(async () => {
    if (outer) await rm(outer, { recursive: true, force: true })
    if (relocated) await rm(relocated, { recursive: true, force: true })
  })

  const start = async (folder: string) => {
    const server = await startPersistentPostgres({ folder, password, onRelocated: (to) => (relocated = to) })
    return server
  }
  const failureOf = async (url: string, sql: string) => await query(url, sql).catch((error: unknown) => error)

  it('in a closed folder keeps its data below /var/lib/gatehouse, with no capability, and finds them again', async () => {
    const folder = join(outer, 'database')
    {
      await using server = await start(folder)
      expect(relocated).to.match(/^\/var\/lib\/gatehouse\/gatehouse-closed-\w+-[0-9a-f]{16}$/)
      const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
      for (const set of ['CapEff', 'CapPrm', 'CapAmb']) expect(status).to.match(new RegExp(`^${set}:\\s+0+$`, 'm'))
      const copied = await failureOf(server.url, "create temp table t (line text); copy t from '/etc/shadow'")
      expect(copied, 'COPY by the superuser').to.have.property('code', '42501')
      const secret = join(outer, 'secret')
      await writeFile(secret, 'x', { mode: 0o644 })
      expect(await failureOf(server.url, `copy t from '${secret}'`)).to.be.instanceOf(Error)
      await query(server.url, 'create table kept as select 7 as number')
    }
    await using next = await start(folder)

    expect(await query(next.url, 'select number from kept')).to.deep.equal([{ number: 7 }])
    expect(existsSync(join(folder, 'data'))).to.equal(false)
  })

  it('takes along the data that an earlier version kept in the closed folder, and leaves them where they are', async () => {
    const folder = join(outer, 'database')
    await chmod(outer, 0o711)
    {
      await using server = await start(folder)
      await query(server.url, 'create table kept as select 7 as number')
    }
    expect(relocated).to.equal(undefined)
    await chmod(outer, 0o700)
    for (const round of ['moved', 'again', 'opened']) {
      if (round === 'opened') await chmod(outer, 0o711)
      await using server = await start(folder)
      expect(await query(server.url, 'select number from kept'), round).to.deep.equal([{ number: 7 }])
      expect(dirname(String((await query(server.url, 'show data_directory'))[0]?.data_directory)), round).to.equal(
        relocated,
      )
    }
  })

  it('runs copies of its programs where their folder is closed, made once and readable to it', async () => {
    const programs = join(outer, 'native')
    await mkdir(join(programs, 'bin'), { recursive: true, mode: 0o700 })
    await writeFile(join(programs, 'bin', 'postgres'), 'program', { mode: 0o700 })
    await symlink('postgres', join(programs, 'bin', 'link'))
    const into = await mkdtemp(join(tmpdir(), 'gatehouse-programs-'))
    try {
      const copies = await Promise.all([1, 2].map(() => reachablePrograms(programs, '18.4.0', into)))

      expect(copies).to.deep.equal([join(into, 'postgresql-18.4.0'), join(into, 'postgresql-18.4.0')])
      expect((await stat(join(copies[0]!, 'bin'))).mode & 0o777).to.equal(0o755)
      expect((await stat(join(copies[0]!, 'bin', 'link'))).mode & 0o777).to.equal(0o755)
      await rename(programs, `${programs}-away`)
      expect(await reachablePrograms(programs, '18.4.0', into)).to.equal(copies[0])
    } finally {
      await rm(into, { recursive: true })
    }
  })
})

describe('The log of a persistent PostgreSQL', function () {
  it('holds neither rows nor statements nor parameters when a constraint is violated', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
    try {
      await using server = await startPersistentPostgres({ folder, password })
      await query(server.url, 'create table users (name text primary key, hash text not null check (length(hash) < 9))')
      const hash = '$2b$12$abcdefghijklmnopqrstuv'
      const insert = 'insert into users values ($1, $2)'
      const violation = await query(server.url, insert, ['ada', hash]).catch((error: unknown) => error)
      expect(violation).to.have.property('detail').that.includes(hash)
      await query(server.url, `insert into users values ('ada', '${hash}')`).catch(() => undefined)

      const log = readFileSync(join(folder, 'server.log'), 'utf8')

      expect(log).to.include('violates check constraint')
      for (const secret of [hash, 'Failing row', 'insert into']) expect(log).to.not.include(secret)
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    }
  })
})
