import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Upload } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { tempUploadDir } from '../../uploads/upload-files.ts'

type UploadDeps = OperationContext & Pick<Deps, 'config' | 'images'>

/**
 * Keeps an image for a profile to name, under a fresh name; `path` is the file as it was received. The row is inserted
 * before the file is written: after a crash in between the cleanup finds both. Throws image_unreadable, image_too_large,
 * images_busy, account_deleted. Contract: 3, uploads.
 */
export async function uploadImage(deps: UploadDeps, { userId, path }: { userId: string; path: string }) {
  const image = await deps.images.convert(path)
  const filename = `${deps.random.uuid()}.webp`
  const upload = { filename, size: image.length, mimetype: 'image/webp' }
  const createdAt = new Date(deps.clock.now())
  await deps.orm.em.fork().insert(Upload, { ...upload, userId, createdAt })
  await writeAtomically(deps.config.uploadDir, filename, image)
  await refuseIfDeleted(deps, filename)
  return { ...upload, url: `/api/uploads/${filename}` }
}

/** A request for the file gets all of it or nothing. */
async function writeAtomically(uploadDir: string, filename: string, image: Buffer): Promise<void> {
  const temporary = join(tempUploadDir(uploadDir), filename)
  try {
    await writeFile(temporary, image)
    await rename(temporary, join(uploadDir, filename))
  } finally {
    await rm(temporary, { force: true })
  }
}

/** An account that was deleted while its file was written has recorded the removal before the file was there. */
async function refuseIfDeleted({ orm, config }: UploadDeps, filename: string): Promise<void> {
  if ((await orm.em.fork().count(Upload, { filename })) > 0) return
  await rm(join(config.uploadDir, filename), { force: true })
  throw refuse.account_deleted()
}
