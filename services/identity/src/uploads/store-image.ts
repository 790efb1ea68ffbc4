import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Resources } from '@gatehouse/service-kit'
import type { IdentityConfig } from '../config.ts'
import type { ImageConverter } from './image-converter.ts'
import { tempUploadDir } from './upload-files.ts'

type StoreDeps = Pick<Resources, 'clock' | 'random'> & {
  images: ImageConverter
  config: Pick<IdentityConfig, 'uploadDir'>
}

export type StoredImage = { filename: string; size: number; mimetype: string; userId: string; createdAt: Date }

type NewImage = { userId: string; path: string; insert: (row: StoredImage) => Promise<void> }

/** Inserts the row before the file has its name: after a crash the cleanup finds both. Throws as `convert` does. */
export async function storeImage(deps: StoreDeps, { userId, path, insert }: NewImage): Promise<StoredImage> {
  const { uploadDir } = deps.config
  const filename = `${deps.random.uuid()}.webp`
  const target = join(tempUploadDir(uploadDir), filename)
  try {
    const size = await deps.images.convert({ userId, path, target })
    const row = { filename, size, mimetype: 'image/webp', userId, createdAt: new Date(deps.clock.now()) }
    await insert(row)
    // A request for the file gets all of it or nothing.
    await rename(target, join(uploadDir, filename))
    return row
  } finally {
    await rm(target, { force: true })
  }
}
