import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { isUploadName } from './upload-name.ts'

export type StoredFile = { handle: FileHandle; size: number }

/** Opens a finished file by its public name; undefined for anything else: a path, a folder, a link. Close the handle. */
export async function openStoredFile(folder: string, filename: string): Promise<StoredFile | undefined> {
  if (!isUploadName(filename)) return undefined
  const handle = await openPlainly(join(folder, filename))
  if (!handle) return undefined
  const found = await handle.stat()
  if (found.isFile()) return { handle, size: found.size }
  await handle.close()
  return undefined
}

async function openPlainly(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
