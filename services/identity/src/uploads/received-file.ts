import { rm } from 'node:fs/promises'
import { refuse } from '../errors.ts'

type Received = Record<string, { filepath: string } | { filepath: string }[] | undefined>

/**
 * The file in the field `file` of a form that has been read. Disposing it removes whatever the form brought. Throws
 * file_missing, and then removes it at once.
 */
export function receivedFile(files: Received | undefined): AsyncDisposable & { path: string } {
  const all = Object.values(files ?? {}).flatMap((found) => found ?? [])
  const removeAll = async () => {
    await Promise.all(all.map(({ filepath }) => rm(filepath, { force: true })))
  }
  const file = files?.file
  if (!file || Array.isArray(file)) {
    void removeAll().catch(() => undefined) // a sweep finds what is left
    throw refuse.file_missing()
  }
  return { path: file.filepath, [Symbol.asyncDispose]: removeAll }
}
