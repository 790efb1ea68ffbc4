import { access, constants, link, lstat, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { CommandFailure } from './failure.ts'

/** A later process knows by it whether the writer still runs. */
export const unfinishedName = (file: string): string => `${file}.${hostname()}-${process.pid}.partial`

/** Renaming would replace what is there. Throws CommandFailure. */
export async function requireFilePath(file: string): Promise<void> {
  await access(dirname(file), constants.W_OK).catch(() => {
    throw new CommandFailure('usage', `cannot write ${file}: its folder does not exist or is not writable`)
  })
  if (await lstat(file).catch(() => null)) throw alreadyExists(file)
}

const alreadyExists = (file: string) => new CommandFailure('usage', `${file} already exists: choose another file name`)

/** Of ended processes of this machine. Throws CommandFailure while another one of them writes this file. */
export async function removeUnfinishedBeside(file: string): Promise<void> {
  const isBefore = (text: string) => text.endsWith(`.${hostname()}-`)
  const running = await removeOfEndedProcesses(dirname(file), { pid: /(\d+)\.partial$/, isBefore })
  if (running.some((name) => name.startsWith(`${basename(file)}.${hostname()}-`)))
    throw new CommandFailure('usage', `${file} is being written by another process: choose another file name`)
}

/** Gives a file that is complete its name, which only one of several writers gets. Throws CommandFailure. */
export async function finishFile(unfinished: string, file: string): Promise<void> {
  const refuseTaken = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw alreadyExists(file)
    throw error
  }
  try {
    await link(unfinished, file)
    await rm(unfinished)
  } catch (error) {
    if (!withoutLinks.has((error as NodeJS.ErrnoException).code)) refuseTaken(error as NodeJS.ErrnoException)
    const placeholder = await open(file, 'wx', 0o600).catch(refuseTaken)
    await placeholder.close()
    await rename(unfinished, file)
  }
}

const withoutLinks: ReadonlySet<string | undefined> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** Folders of ended processes of this machine are removed. */
export async function openScratchFolder(): Promise<AsyncDisposable & { path: string }> {
  const prefix = `gatehouse-${hostname()}-`
  await removeOfEndedProcesses(tmpdir(), { pid: /(\d+)-\w{6}$/, isBefore: (text) => text === prefix })
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

type Form = { pid: RegExp; isBefore(text: string): boolean }

/** Gives the names of those that run. */
async function removeOfEndedProcesses(folder: string, { pid, isBefore }: Form): Promise<string[]> {
  const running: string[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const match = pid.exec(name)
    if (!match || !isBefore(name.slice(0, match.index))) continue
    if (isOther(Number(match[1]))) running.push(name)
    else await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined) // another user's stays
  }
  return running
}

/** An earlier process may have had this number. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
