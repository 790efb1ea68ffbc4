import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { findOnPath } from './find-program.js'

export type Command = { file: string; args: string[]; uid?: number; gid?: number }
export type User = { uid: number; gid: number }

/** The user that a server which refuses to run as root runs as; null when this process is not root. */
export function findUnprivilegedUser(): User | null {
  if (process.getuid?.() !== 0) return null
  const line = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m)
  if (!line) throw new Error('Running as root needs the system user "nobody": run as another user instead')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

/**
 * The command as `user`. Where a folder above one of `paths` is closed to that user (a clone in /root), the command keeps
 * the right to pass through, and only that.
 */
export function asUser(user: User | null, command: Command, paths: string[]): Command {
  if (!user) return command
  if (paths.every((path) => isReachable(path))) return { ...command, ...user }
  const setpriv = findOnPath(['setpriv'])
  if (!setpriv) throw new Error(`Run as another user than root, or open the way to ${paths.join(' and ')} for "nobody"`)
  const rights = '+dac_override,+dac_read_search'
  const identity = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  // The bit makes access(2), which PostgreSQL asks about its own files, see these rights too.
  const kept = ['--securebits=+no_setuid_fixup', `--inh-caps=${rights}`, `--ambient-caps=${rights}`]
  return { file: setpriv, args: [...identity, ...kept, command.file, ...command.args] }
}

function isReachable(path: string): boolean {
  const parent = dirname(path)
  if (parent === path) return true
  const isOpenToOthers = (statSync(parent).mode & 0o001) !== 0
  return isOpenToOthers && isReachable(parent)
}
