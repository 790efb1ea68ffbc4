import { rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { refuse } from '@gatehouse/runtime'

/** On the disk of the finished files. No public name starts with a dot. */
export function tempUploadDir(uploadDir: string): string {
  return join(uploadDir, '.incoming')
}

/** A name that is no path, and does not start with a dot. */
export function isUploadName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)
}

/** Bytes that this process may still write. */
export async function freeDiskBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

type FormFiles = Record<string, { filepath: string } | { filepath: string }[] | undefined>

/** Disposing removes every file of the form. Throws file_missing. */
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
