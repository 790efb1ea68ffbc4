import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { changeRows } from '@gatehouse/database'
import type { Resources } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import type { ImageConverter } from './image-converter.ts'
import { tempUploadDir } from './upload-files.ts'
import type { UploadStore } from './upload-store.ts'

type StoreDeps = Pick<Resources, 'orm' | 'clock' | 'random'> & {
  images: ImageConverter
  uploadStore: UploadStore
  config: Pick<IdentityConfig, 'uploadDir'>
}

export type StoredImage = { filename: string; size: number; mimetype: string; userId: string; createdAt: Date }

type NewImage = { userId: string; path: string; insert: (row: StoredImage) => Promise<void> }

/**
 * Inserts the row before the file has its name: after a crash the cleanup finds both. Nobody learns the name before the
 * file is there. Throws as `convert` and the store do.
 */
export async function storeImage(deps: StoreDeps, { userId, path, insert }: NewImage): Promise<StoredImage> {
  const { uploadDir } = deps.config
  const filename = `${deps.random.uuid()}.webp`
  const target = join(tempUploadDir(uploadDir), filename)
  try {
    const size = await deps.images.convert({ userId, path, target })
    const row = { filename, size, mimetype: 'image/webp', userId, createdAt: new Date(deps.clock.now()) }
    await insert(row)
    await deps.uploadStore.put(filename, target).catch(async (error: unknown) => {
      await withdraw(deps, filename)
      throw error
    })
    return row
  } finally {
    await rm(target, { force: true })
  }
}

/** The store may have the file although it did not say so. */
async function withdraw({ orm }: StoreDeps, filename: string): Promise<void> {
  await changeRows(
    orm.em.fork(),
    `with deleted as (delete from uploads where filename = ? returning filename)
     insert into file_removals (filename) select filename from deleted`,
    [filename],
  )
}
