import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { eventually, migratedDatabase } from '@gatehouse/test-kit'
import { expect } from 'chai'
import pg from 'pg'
import sharp from 'sharp'
import { writeArchive } from '../cli/archive/write-archive.ts'
import { openUploadStaging } from '../cli/upload-staging.ts'
import { writeOtherDatabase } from './other-server.ts'
import { startProgram, uploadsIn } from './program.ts'
import { query } from './query.ts'
import { runArguments, useTemporary } from './run-arguments.ts'

const cli = 'deploy/cli/main.ts'
const moment = 100_000

describe('a backup, restore or import that is killed, or finds no room', function () {
  this.timeout(400_000)
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-interrupted-'))
    await chmod(folder, 0o711)
    for (const name of ['uploads', 'target', 'temporary', 'archives']) await mkdir(at(name))
    useTemporary(at('temporary'))
  })
  afterEach(async () => {
    useTemporary(undefined)
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })
  const at = (name: string) => join(folder, name)
  const variables = (url: string, uploads = 'target') => ({
    DATABASE_URL: url,
    UPLOAD_DIR: at(uploads),
    DOMAIN: 'chat.example',
    TMPDIR: at('temporary'),
    ENCRYPTION_SECRET: 'e'.repeat(40),
  })
  const run = (url: string, ...args: string[]) => runArguments(args, variables(url))
  const litter = async () => [...(await readdir(at('target'))), ...(await readdir(at('temporary')))]

  it('a restore that is killed before its commit leaves no row, and the next one is complete and leaves no folder', async () => {
    await using source = await filledDatabase(at('uploads'))
    await using target = await migratedDatabase()
    const options = { file: at('archive'), now: Date.now(), progress: () => undefined }
    await writeArchive({ databaseUrl: source.url, ...uploadsIn(at('uploads')), ...options })

    await using held = await holdAt(target.url, 'update on users')
    await using program = startProgram(cli, variables(target.url), ['restore', at('archive')])
    await held.kill(program)

    expect((await litter()).join()).to.match(/^\.restore-\d+$/)
    expect(await countUsers(target.url)).to.equal(0)
    const again = await run(target.url, 'restore', at('archive'))
    expect(again.code, again.errors).to.equal(0)
    expect(await countUsers(target.url)).to.equal(3_000)
    expect(await litter()).to.deep.equal(['large.bin'])
    expect(await readFile(at('target/large.bin'))).to.deep.equal(await readFile(at('uploads/large.bin')))
  })

  it('an import that is killed before its commit leaves no row, and the next one is complete and leaves no folder', async () => {
    await using target = await migratedDatabase()
    const source = await writeOtherInstance(folder)

    await using held = await holdAt(target.url, 'insert on audit_log')
    await using program = startProgram(cli, variables(target.url), ['import', ...source])
    await held.kill(program)

    expect((await litter()).join()).to.match(/^\.import-\d+,gatehouse-/)
    expect(await countUsers(target.url)).to.equal(0)
    const again = await run(target.url, 'import', ...source)
    expect(again.code, again.errors).to.equal(0)
    expect(await countUsers(target.url)).to.equal(1)
    expect((await litter()).join()).to.match(/^[0-9a-f]{32}\.webp$/)
  })

  it('a backup that is killed leaves no archive, and the next one to any name in its folder removes what is left', async () => {
    await using source = await filledDatabase(at('target'))
    const holder = new pg.Client(source.url)
    await holder.connect()
    await holder.query('begin; lock table voice_restrictions in access exclusive mode')
    const keys = { ...variables(source.url), JWT_SECRET: 'j'.repeat(40), INTERNAL_SECRET: 'i'.repeat(40) }
    const args = ['backup', at('archives/monday'), '--secrets', at('archives/monday.secrets')]
    await using program = startProgram(cli, keys, args)
    await eventually('the moment', () => /uploads: 1 rows/.test(program.output.stderr), moment)

    program.signal('SIGKILL')
    await program.exited
    await holder.end()

    expect((await readdir(at('archives'))).join()).to.match(/^monday\..+\.partial$/)
    expect((await litter()).join()).to.match(/^\.backup-\d+,large\.bin$/)
    await noConnection(source.url, 'gatehouse-backup')
    const again = await run(source.url, 'backup', at('archives/tuesday'))
    expect(again.code, again.errors).to.equal(0)
    expect(await readdir(at('archives'))).to.deep.equal(['tuesday'])
    expect(await litter()).to.deep.equal(['large.bin'])
    const same = await runArguments(args, keys)
    expect(same.code, same.errors).to.equal(0)
    expect(await readdir(at('archives'))).to.have.members(['monday', 'monday.secrets', 'tuesday'])
  })

  it('a backup and a restore that PostgreSQL leaves say so, clean up, and are complete when they are run again', async () => {
    await using source = await filledDatabase(at('uploads'))
    await using target = await migratedDatabase()
    const backUp = ['backup', at('archives/monday')]
    const restore = () => run(target.url, 'restore', at('archives/monday'))
    const holder = new pg.Client(source.url)
    await holder.connect()
    await holder.query('begin; lock table voice_restrictions in access exclusive mode')
    await using program = startProgram(cli, variables(source.url, 'uploads'), backUp)
    await eventually('the moment', () => /uploads: 1 rows/.test(program.output.stderr), moment)
    const own = `datname = current_database() and application_name = 'gatehouse-backup'`
    await query(source.url, `select pg_terminate_backend(pid) from pg_stat_activity where ${own}`)
    const backup = await program.exited
    await holder.end()

    expect(backup.code, backup.stderr).to.equal(5)
    expect(backup.stderr)
      .to.match(/^lost the connection to PostgreSQL: there is no archive$/m)
      .and.not.include('    at ')
    expect([await readdir(at('archives')), await readdir(at('uploads'))]).to.deep.equal([[], ['large.bin']])
    const backedUp = await runArguments(backUp, variables(source.url, 'uploads'))
    expect(backedUp.code, backedUp.errors).to.equal(0)

    await using held = await holdAt(target.url, 'update on users')
    const lost = await held.lose(restore())
    expect(lost.code, lost.errors).to.equal(5)
    expect(lost.errors)
      .to.match(/^lost the connection to PostgreSQL: nothing was changed$/m)
      .and.not.include('    at ')
    expect([await litter(), await countUsers(target.url)]).to.deep.equal([[], 0])

    // The rows may be there, and need the file.
    await using last = await holdAt(target.url, 'insert on instance_settings', { isAtCommit: true })
    const unknown = await last.lose(restore())
    expect(unknown.code, unknown.errors).to.equal(5)
    expect(unknown.errors).to.match(
      /^lost the connection to PostgreSQL: it may have been committed; if so, a second run is rejected$/m,
    )
    expect([await litter(), await countUsers(target.url)]).to.deep.equal([['large.bin'], 0])
    const restored = await restore()
    expect(restored.code, restored.errors).to.equal(0)
    expect([await litter(), await countUsers(target.url)]).to.deep.equal([['large.bin'], 3_000])
  })

  it('a run leaves alone what another one that still runs has beside the uploads and the archive', async () => {
    await using source = await filledDatabase(at('target'))
    const other = new pg.Client(source.url)
    await other.connect()
    await openUploadStaging(other, uploadsIn(at('target')), 'backup')
    const [running = ''] = (await readdir(at('target'))).filter((name) => name.startsWith('.'))
    const host = (await import('node:os')).hostname()
    await writeFile(at(`archives/monday.${host}-${process.pid}.partial`), '')

    // What this process has left is no other's.
    const beside = await startProgram(cli, variables(source.url), ['backup', at('archives/tuesday')]).exited

    expect(beside.code, beside.stderr).to.equal(0)
    expect(await readdir(at('target'))).to.have.members([running, 'large.bin'])
    expect(await readdir(at('archives'))).to.have.length(2)
    await other.end()
    await noConnection(source.url, '')
    await run(source.url, 'backup', at('archives/wednesday'))
    expect(await readdir(at('target'))).to.deep.equal(['large.bin'])
  })

  it('a full disk is one clear line, and nothing has changed', async () => {
    await using source = await filledDatabase(at('uploads'))
    await using target = await migratedDatabase()
    const options = { file: at('whole'), now: Date.now(), progress: () => undefined }
    await writeArchive({ databaseUrl: source.url, ...uploadsIn(at('uploads')), ...options })
    const other = await writeOtherInstance(folder)

    const backup = await runWithin(16, variables(source.url, 'uploads'), ['backup', at('archives/full')])
    const restore = await runWithin(16, variables(target.url), ['restore', at('whole')])
    await query(target.url, triggerAt('insert on audit_log', `raise 'no room' using errcode = 'disk_full'`))
    const imported = await run(target.url, 'import', ...other)

    expect([backup.code, restore.code, imported.code]).to.deep.equal([1, 1, 1])
    expect(backup.stderr).to.match(/^the disk is full: there is no archive\n$/m)
    expect(restore.stderr).to.match(/^the disk is full: nothing was changed\n$/m)
    expect(imported.errors).to.match(/^the disk is full: nothing was changed\n$/m)
    expect([backup.stderr, restore.stderr, imported.errors].join()).to.not.include('    at ')
    expect(await readdir(at('archives'))).to.deep.equal([])
    expect(await readdir(at('uploads'))).to.deep.equal(['large.bin'])
    expect(await litter()).to.deep.equal([])
    expect(await countUsers(target.url)).to.equal(0)
  })
})

const triggerAt = (event: string, statement: string, { isAtCommit = false } = {}) => `
  create function stop() returns trigger language plpgsql as $$ begin ${statement}; return null; end $$;
  create ${isAtCommit ? 'constraint trigger stop after' : 'trigger stop before'} ${event}
    ${isAtCommit ? 'deferrable initially deferred for each row' : 'for each statement'} execute function stop()`

/** Makes the transaction that comes to `event` wait there, or at its commit, so that it can be ended at exactly that point. */
async function holdAt(url: string, event: string, form: { isAtCommit?: boolean } = {}) {
  const sleeping = `from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  const reached = () => eventually('the moment', async () => (await query(url, `select pid ${sleeping}`))[0], moment)
  await query(url, triggerAt(event, 'perform pg_sleep(3600)', form))
  const release = async () => {
    // A statement goes on without its client, and PostgreSQL would see only at its end that nobody is there.
    await query(url, `select pg_terminate_backend(pid, ${moment}) ${sleeping}`)
    await query(url, 'drop function if exists stop cascade')
  }
  return {
    /** PostgreSQL ends the connection. */
    lose: async <T>(running: Promise<T>): Promise<T> => {
      await reached()
      await release()
      return await running
    },
    kill: async ({ exited, signal }: Pick<ReturnType<typeof startProgram>, 'exited' | 'signal'>) => {
      await reached()
      signal('SIGKILL')
      await exited
      await release()
    },
    [Symbol.asyncDispose]: release,
  }
}

/** Runs the command line where no file may have more than `blocks` blocks of 512 or 1024 bytes. */
async function runWithin(blocks: number, environment: Record<string, string>, args: string[]) {
  const { PATH = '', HOME = '' } = process.env
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', cli, ...args]
  const options = { cwd: resolve(import.meta.dirname, '../..'), env: { PATH, HOME, ...environment } }
  return await new Promise<{ code: number; stderr: string }>((done) => {
    execFile('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', ...command], options, (error, _, stderr) =>
      done({ code: Number(error?.code ?? 0), stderr }),
    )
  })
}

/** 3000 accounts that hardly compress, one with a file of 100 kB. */
async function filledDatabase(uploadDir: string) {
  const database = await migratedDatabase()
  await query(
    database.url,
    `insert into users (id, username, password_hash, bio)
     select n, 'user_' || n, '!unverifiable', md5(n::text) || md5((-n)::text) from generate_series(1, 3000) n;
     insert into uploads (filename, user_id, size, mimetype) values ('large.bin', 1, 100000, 'image/webp')`,
  )
  await writeFile(join(uploadDir, 'large.bin'), randomBytes(100_000))
  return database
}

/** A database of the other chat server with one account that has a picture: what `import` takes. */
async function writeOtherInstance(folder: string): Promise<string[]> {
  const [file, uploads] = [join(folder, 'other.db'), join(folder, 'other-uploads')]
  const picture = sharp({ create: { width: 20, height: 20, channels: 3, background: 'red' } })
  await mkdir(uploads)
  await writeFile(join(uploads, 'red.png'), await picture.png().toBuffer())
  const user = { id: '7000000000', username: 'ada', password_hash: 'none', avatar: 'red.png', created_at: 1.75e12 }
  writeOtherDatabase(file, { users: [user] })
  return [file, '--uploads', uploads]
}

const countUsers = async (url: string): Promise<number> =>
  ((await query(url, 'select count(*)::int as n from users'))[0] as { n: number }).n

const noConnection = (url: string, name: string) =>
  eventually(
    'the connection has ended',
    async () => {
      const others = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
      return (await query(url, `${others} and application_name = '${name}'`)).length === 0
    },
    moment,
  )
