import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startTimeOf } from './process-tree.ts'

export class FolderInUse extends Error {
  override readonly name = 'FolderInUse'
  readonly ownerPid: number
  constructor(folder: string, ownerPid: number) {
    super(`${folder} is in use by process ${ownerPid}`)
    this.ownerPid = ownerPid
  }
}

const maxAttempts = 3

/** The lock ends with this process, by SIGKILL too. Throws FolderInUse, and the file system's error. */
export function lockFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'owner')
  // A later process may have the same pid.
  const owner = `${process.pid} ${startTimeOf(process.pid)}\n`
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (createFile(file, owner)) return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
    removeIfStale(folder, file)
  }
  throw new Error(`${file} cannot be created`)
}

function removeIfStale(folder: string, file: string): void {
  const lock = readIfExists(file)
  if (lock === undefined) return
  const [, pid = '', startedAt = ''] = /^(\d+) (.*)\n/.exec(lock) ?? []
  if (pid && startTimeOf(Number(pid)) === startedAt) throw new FolderInUse(folder, Number(pid))
  // Another process may have replaced the stale lock: then the file is renamed back.
  const renamed = `${file}.${process.pid}.stale`
  if (existsSync(file)) renameSync(file, renamed)
  if (readIfExists(renamed) === lock) rmSync(renamed)
  else if (existsSync(renamed)) renameSync(renamed, file)
}

export function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A crash leaves all of the file or nothing. One of parallel calls succeeds. False when the file exists. */
export function createFile(file: string, content: string): boolean {
  const temporary = `${file}.${process.pid}`
  writeFileSync(temporary, content, { mode: 0o600 })
  try {
    linkSync(temporary, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(temporary)
  }
}
