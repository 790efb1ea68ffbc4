import { access, constants, lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandFailure } from './failure.ts'

/** A later process knows by it whether the writer still runs. */
export const unfinishedName = (file: string): string => `${file}.${hostname()}-${process.pid}.partial`

/** Renaming would replace what is there. Throws CommandFailure. */
export async function requireFilePath(file: string): Promise<void> {
  await access(dirname(file), constants.W_OK).catch(() => {
    throw new CommandFailure('usage', `cannot write ${file}: its folder does not exist or is not writable`)
  })
  const found = await lstat(file).catch(() => null)
  if (found) throw new CommandFailure('usage', `${file} already exists: choose another file name`)
}

/** Of ended processes of this machine. */
export async function removeUnfinishedBeside(file: string): Promise<void> {
  const isBefore = (text: string) => text.endsWith(`.${hostname()}-`)
  await removeOfEndedProcesses(dirname(file), { pid: /(\d+)\.partial$/, isBefore })
}

/** Folders of ended processes of this machine are removed. */
export async function openScratchFolder(): Promise<AsyncDisposable & { path: string }> {
  const prefix = `gatehouse-${hostname()}-`
  await removeOfEndedProcesses(tmpdir(), { pid: /(\d+)-\w{6}$/, isBefore: (text) => text === prefix })
  const path = await mkdtemp(join(tmpdir(), `${prefix}${process.pid}-`))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

type Form = { pid: RegExp; isBefore(text: string): boolean }

async function removeOfEndedProcesses(folder: string, { pid, isBefore }: Form): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const found = pid.exec(name)
    if (found && isBefore(name.slice(0, found.index)) && !isOther(Number(found[1])))
      await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined) // another user's stays
  }
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
