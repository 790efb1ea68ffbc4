import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '@gatehouse/runtime'

/** Where files are received and written, on the disk of the finished ones. No public name starts with a dot. */
export function tempUploadDir(uploadDir: string): string {
  return join(uploadDir, '.incoming')
}

/** Whether a name may be that of a finished file: no path, and no dot at the start. */
export function isUploadName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)
}

type FormFiles = Record<string, { filepath: string } | { filepath: string }[] | undefined>

/**
 * The file in the field `file` of a form that has been read. Disposing it removes every file of the form. Throws
 * file_missing, and then removes them at once.
 */
export function receivedFile(files: FormFiles | undefined): AsyncDisposable & { path: string } {
  const all = Object.values(files ?? {}).flatMap((found) => found ?? [])
  const removeAll = async () => {
    await Promise.all(all.map(({ filepath }) => rm(filepath, { force: true })))
  }
  const file = files?.file
  if (!file || Array.isArray(file)) {
    void removeAll().catch(() => undefined) // the cleanup removes what is left
    throw refuse.file_missing()
  }
  return { path: file.filepath, [Symbol.asyncDispose]: removeAll }
}
