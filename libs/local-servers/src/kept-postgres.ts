import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { claimFolder } from './claim-folder.ts'
import { stopLeftOverPostgres } from './left-over-postgres.ts'
import { findBinaries, runInitdb } from './postgres-binaries.ts'
import type { PrivateServer } from './private-server.ts'
import { startServer } from './server-process.ts'
import { asUser, findUnprivilegedUser } from './unprivileged-user.ts'
import type { Command } from './unprivileged-user.ts'

const USER = 'gatehouse'
const DATABASE = 'gatehouse'
const AGAIN_AFTER_MS = 500
// A server that shuts down on its owner's death may still be at it when the next owner comes.
const START_ATTEMPTS = 4

/** Small enough to run beside everything else on one machine, and safe against a crash of that machine. */
const settings = {
  shared_buffers: '32MB',
  max_connections: '60',
  max_wal_size: '256MB',
  jit: 'off',
  log_checkpoints: 'off',
  password_encryption: 'scram-sha-256',
}

/** The folder's data ask for another password than the given one. */
export class WrongPassword extends Error {
  override readonly name = 'WrongPassword'
}

type Options = {
  /** Claimed for this process, made where it is missing. */
  folder: string
  /** Asked of everybody who connects; given to the server when the folder is new. */
  password: string
  settings?: Record<string, string>
}

/**
 * A PostgreSQL server whose data stay: made once in `folder`, reachable on 127.0.0.1 with the password only. It ends with
 * this process; if this process was killed, the next one takes over what is left; if the server is killed, it comes
 * back on the same port. `url` holds the password. Throws FolderInUse while another process has the folder.
 */
export async function startPostgres(options: Options): Promise<PrivateServer> {
  const folder = resolve(options.folder)
  await using opening = new AsyncDisposableStack()
  opening.use(claimFolder(folder))
  const data = join(folder, 'data')
  await stopLeftOverPostgres(data)
  const binaries = await findBinaries()
  if (!existsSync(data)) await makeData({ folder, data, password: options.password, initdb: binaries.initdb })
  await rm(join(folder, 'server.log'), { force: true })
  const server = opening.use(await startPatiently({ ...options, folder, data, postgres: binaries.postgres }))
  const open = opening.move()
  return Object.create(server, { [Symbol.asyncDispose]: { value: () => open.disposeAsync() } }) as PrivateServer
}

type Place = { folder: string; data: string; password: string }

/** Made aside and renamed, so that an interrupted start leaves no half of it. */
async function makeData({ folder, data, password, initdb }: Place & { initdb: string }): Promise<void> {
  const user = findUnprivilegedUser()
  const unfinished = `${data}-unfinished`
  const passwordFile = join(folder, 'password')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  try {
    if (user) await Promise.all([folder, unfinished, passwordFile].map((path) => chown(path, user.uid, user.gid)))
    const places = ['-D', unfinished, '-U', USER, `--pwfile=${passwordFile}`]
    const kind = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C']
    await runInitdb(asUser(user, { file: initdb, args: [...places, ...kind] }, [initdb, unfinished]), folder)
  } finally {
    await rm(passwordFile, { force: true })
  }
  await chmod(unfinished, 0o700)
  await rename(unfinished, data)
}

async function startPatiently(place: Place & Pick<Options, 'settings'> & { postgres: string }): Promise<PrivateServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startKept(place)
    } catch (error) {
      const isStillInUse = /lock file .* already exists|shared memory block .* is still in use/.test(String(error))
      if (!isStillInUse || attempt === START_ATTEMPTS) throw error
      await pause(AGAIN_AFTER_MS)
      await stopLeftOverPostgres(place.data)
    }
  }
}

async function startKept(place: Place & Pick<Options, 'settings'> & { postgres: string }): Promise<PrivateServer> {
  const user = findUnprivilegedUser()
  const flags = Object.entries({ ...settings, ...place.settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  let isWanted = false
  const server = await startServer({
    name: 'postgres',
    folder: place.folder,
    isKept: true,
    command(port): Command {
      const args = ['-D', place.data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...flags]
      return asUser(user, { file: place.postgres, args }, [place.postgres, place.data])
    },
    url: (port) => `postgres://${USER}:${encodeURIComponent(place.password)}@127.0.0.1:${port}/${DATABASE}`,
    isReady: (port) => isReady(port, place.password),
    stopSignal: 'SIGINT',
    discardSignal: 'SIGINT',
    onEnd: () => isWanted && void comeBack(),
  })
  isWanted = true

  async function comeBack(): Promise<void> {
    await pause(AGAIN_AFTER_MS)
    // A failed attempt ends its process too, which asks for the next.
    if (isWanted) await server.start().catch(() => undefined)
    if (!isWanted) await server.stop()
  }

  const stop = async (): Promise<void> => {
    isWanted = false
    await server[Symbol.asyncDispose]()
  }
  return Object.create(server, { stop: { value: stop }, [Symbol.asyncDispose]: { value: stop } }) as PrivateServer
}

/** Ready when the password opens it and the database is there. Rejects when the password is another one's. */
async function isReady(port: number, password: string): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: USER, password, database: 'postgres' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (!rowCount) await client.query(`create database ${DATABASE}`)
    return true
  } catch (error) {
    if ((error as { code?: string }).code === '28P01')
      throw new WrongPassword(`${DATABASE} was made with another password`, { cause: error })
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
