import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { chown, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

// Root runs PostgreSQL as `nobody`, which cannot enter closed folders, such as /root. It uses this one.
const openFolder = '/var/lib/gatehouse'

const run = promisify(execFile)

/** Null when this process is not root. */
export function findUnprivilegedUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const line = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+):/m)
  if (!line) throw new Error('PostgreSQL does not run as root, and there is no user "nobody": run as another user')
  return { uid: Number(line[1]), gid: Number(line[2]) }
}

/** Always true when this process is not root. */
export const isReachable = (path: string): boolean => findUnprivilegedUser() === null || isOpenAbove(path)

function isOpenAbove(path: string): boolean {
  const parent = dirname(path)
  if (parent === path) return true
  return (statSync(parent).mode & 0o001) !== 0 && isOpenAbove(parent)
}

/** `folder`, or one below /var/lib/gatehouse. It exists afterwards. */
export async function reachableFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  if (findUnprivilegedUser() === null) return folder
  const path = realpathSync(folder)
  const name = `${basename(dirname(path))}-${createHash('sha256').update(path).digest('hex').slice(0, 16)}`
  const relocated = join(openFolder, name.replace(/[^\w-]+/g, ''))
  // Data stay where they were made.
  const hasData = existsSync(join(relocated, 'data')) && !existsSync(join(folder, 'data'))
  if (isOpenAbove(folder) && !hasData) return folder
  await makeOpenFolder()
  await mkdir(relocated, { recursive: true, mode: 0o700 })
  return relocated
}

/** Whole or not at all, also over file systems. */
export async function moveFolder(from: string, to: string): Promise<void> {
  const user = findUnprivilegedUser()
  if (user) await chown(dirname(to), user.uid, user.gid)
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    const unfinished = `${to}-unfinished`
    await rm(unfinished, { recursive: true, force: true })
    await run('cp', ['-a', from, unfinished])
    await rename(unfinished, to)
    await rm(from, { recursive: true })
  }
}

/** The given folder, or a copy in `into` for each version. */
export async function reachablePrograms(programs: string, version: string, into = openFolder): Promise<string> {
  if (isReachable(programs)) return programs
  const copy = join(into, `postgresql-${version}`)
  if (existsSync(copy)) return copy
  if (into === openFolder) await makeOpenFolder()
  const own = await mkdtemp(`${copy}-`)
  try {
    await run('cp', ['-RP', programs, join(own, 'copy')])
    await run('chmod', ['-R', 'a+rX', join(own, 'copy')])
    await rename(join(own, 'copy'), copy)
  } catch (error) {
    if (!existsSync(copy)) throw error
  } finally {
    await rm(own, { recursive: true })
  }
  return copy
}

async function makeOpenFolder(): Promise<void> {
  await mkdir(openFolder, { recursive: true, mode: 0o755 }).catch((cause: unknown) => {
    const remedy = 'run as another user than root, or in a folder that "nobody" may enter'
    throw new Error(`${openFolder} cannot be created: ${remedy}`, { cause })
  })
}
