import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startOf } from './process-tree.ts'

/** Another living process has the folder. */
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

const FILE = 'owner'
const ATTEMPTS = 3

/**
 * Makes this process the only owner of a folder until the claim is disposed of or the process ends, however it ends.
 * Throws FolderInUse while another living process has it, and what the file system says when it cannot be written.
 */
export function claimFolder(folder: string): Disposable {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, FILE)
  // With the moment of its start: the number alone may by now be another process's.
  const claim = `${process.pid} ${startOf(process.pid)}\n`
  for (let attempt = 1; ; attempt += 1) {
    try {
      writeFileSync(file, claim, { flag: 'wx' })
      return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt === ATTEMPTS) throw error
      removeIfLeftOver(folder, file)
    }
  }
}

function removeIfLeftOver(folder: string, file: string): void {
  const found = readIfThere(file)
  if (found === undefined) return
  const [, pid = '', start = ''] = /^(\d+) (.*)\n/.exec(found) ?? []
  if (pid && startOf(Number(pid)) === start) throw new FolderInUse(folder, Number(pid))
  // Renamed first: of several that find the same left-over, one removes it, and none the claim of that one.
  const aside = `${file}-${process.pid}`
  renameSync(file, aside)
  if (readIfThere(aside) === found) rmSync(aside)
  else renameSync(aside, file)
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
