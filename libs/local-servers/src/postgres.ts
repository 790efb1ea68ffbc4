import { existsSync, readFileSync } from 'node:fs'
import { chmod, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { moveFolder, reachableFolder } from './closed-folders.ts'
import { lockFolder } from './folder-lock.ts'
import { acceptsQueries, initDatabase, loadPostgresPrograms, postgresCommand } from './postgres-commands.ts'
import { commandLineOf, isRunning, killTree, signalProcess, signalTree } from './process-tree.ts'
import { startServer, type LocalServer } from './server-process.ts'
import { createScratchFolder, removeFolder } from './scratch-folder.ts'

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
  /** Called when the data are in another folder. */
  onRelocated?: (folder: string) => void
}

/** An ended server restarts on the same port. `url` holds the password. Throws FolderInUse. */
export async function startPersistentPostgres(options: Options): Promise<LocalServer> {
  const given = resolve(options.folder)
  await using opening = new AsyncDisposableStack()
  opening.use(lockFolder(given))
  const folder = await reachableFolder(given)
  const data = join(folder, 'data')
  if (folder !== given) {
    options.onRelocated?.(folder)
    await moveEarlierData(join(given, 'data'), data)
  }
  if (!existsSync(data)) await createData(folder, data, options.password)
  const { postgres } = await loadPostgresPrograms()
  const settings = { ...defaultSettings, ...options.settings }
  const urlOf = (database: string, port: number) =>
    `postgres://${name}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/${database}?sslmode=disable`
  return await startServer({
    name: 'postgres',
    folder,
    port: options.port,
    command: (port) => postgresCommand({ postgres, data, port, settings }),
    url: (port) => urlOf(name, port),
    isReady: (port) => acceptsQueries(urlOf('postgres', port), createDatabase),
    prepare: () => stopLeftOverServer(data),
    ...(options.onSpawned && { onSpawned: options.onSpawned }),
    stopSignal: 'SIGINT',
    discardSignal: 'SIGINT',
    restarts: true,
    resources: opening.move(),
  })
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

/** Committed data survive `kill()`. fsync is off: a crash of the machine may lose them. */
export async function startEphemeralPostgres(
  options: { settings?: Record<string, string> } = {},
): Promise<LocalServer> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('postgres'), removeFolder)
  const data = join(folder, 'data')
  const { postgres } = await loadPostgresPrograms()
  await initDatabase(data, ['-U', 'postgres', '--auth=trust', '--no-sync'])
  // A killed server leaves shared memory of the system behind.
  const withinFolder = { dynamic_shared_memory_type: 'mmap' }
  const settings = { fsync: 'off', max_connections: '100', ...withinFolder, ...options.settings }
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`
  return await startServer({
    name: 'postgres',
    folder,
    command: (port) => postgresCommand({ postgres, data, port, settings }),
    url,
    isReady: (port) => acceptsQueries(url(port)),
    stopSignal: 'SIGINT',
    discardSignal: 'SIGQUIT',
    resources: opening.move(),
  })
}
