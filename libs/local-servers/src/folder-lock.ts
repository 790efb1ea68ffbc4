import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createFile } from './create-file.ts'
import { startTimeOf } from './process-tree.ts'

/** Another running process holds the lock of the folder. */
export class FolderInUse extends Error {
  override readonly name = 'FolderInUse'
  readonly folder: string
  readonly ownerPid: number
  constructor(folder: string, ownerPid: number) {
    super(`${folder} is in use by process ${ownerPid}`)
    this.folder = folder
    this.ownerPid = ownerPid
  }
}

const maxAttempts = 3

/**
 * Locks a folder for this process, until the lock is disposed of or the process ends, by SIGKILL too. Throws FolderInUse
 * while another running process holds the lock, and the file system's error where the folder cannot be written.
 */
export function lockFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'owner')
  // The start time tells this process from a later one with the same pid.
  const owner = `${process.pid} ${startTimeOf(process.pid)}\n`
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (createFile(file, owner)) return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
    removeIfStale(folder, file)
  }
  throw new Error(`${file} cannot be created`)
}

function removeIfStale(folder: string, file: string): void {
  const found = readIfExists(file)
  if (found === undefined) return
  const [, pid = '', startedAt = ''] = /^(\d+) (.*)\n/.exec(found) ?? []
  if (pid && startTimeOf(Number(pid)) === startedAt) throw new FolderInUse(folder, Number(pid))
  // Renamed first, and back where it is not the file that was read: another process may have replaced the stale lock by
  // its own in the meantime.
  const renamed = `${file}.${process.pid}.stale`
  if (existsSync(file)) renameSync(file, renamed)
  if (readIfExists(renamed) === found) rmSync(renamed)
  else if (existsSync(renamed)) renameSync(renamed, file)
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
