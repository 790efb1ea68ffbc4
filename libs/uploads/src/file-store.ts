import { constants } from 'node:fs'
import { access, copyFile, lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isUploadName, tempUploadDir } from './upload-files.ts'
import type { UploadStore } from './upload-store.ts'

const withoutLinks = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

export function createFileStore(folder: string): UploadStore {
  async function find(name: string) {
    const stats = isUploadName(name) ? await unlessAbsent(lstat(join(folder, name))) : undefined
    return stats?.isFile() ? { size: stats.size } : null
  }

  return {
    name: `file:${folder}`,
    check: () => access(folder),
    find,
    open: async (name, range) => {
      if (!isUploadName(name)) return null
      const handle = await unlessAbsent(open(join(folder, name), withoutLinks), ['ELOOP', 'EISDIR'])
      if (!handle) return null
      const stats = await handle.stat()
      if (stats.isFile()) return { size: stats.size, content: handle.createReadStream(range) }
      await handle.close()
      return null
    },
    put: async (name, path) => {
      try {
        await rename(path, join(folder, name))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
        await copyWhole(path, { copy: join(tempUploadDir(folder), name), target: join(folder, name) })
      }
    },
    remove: async (name) => void (await unlessAbsent(unlink(join(folder, name)))),
    list: async function* () {
      for (const name of await readdir(folder)) {
        const found = await find(name)
        if (found) yield { name, ...found }
      }
    },
  }
}

/** The name has all of the content or none, and a failure leaves no copy. */
async function copyWhole(path: string, { copy, target }: { copy: string; target: string }): Promise<void> {
  try {
    await copyFile(path, copy)
    await rename(copy, target)
  } finally {
    await rm(copy, { force: true })
  }
}

async function unlessAbsent<T>(work: Promise<T>, others: readonly string[] = []): Promise<T | undefined> {
  return await work.catch((error: unknown) => {
    if (['ENOENT', ...others].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  })
}
