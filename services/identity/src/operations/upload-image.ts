import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Upload } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { partsFolder } from '../uploads/parts-folder.ts'

type Needs = Pick<Deps, 'orm' | 'clock' | 'random' | 'config' | 'images'>
type Input = { userId: string; path: string }

/**
 * Keeps an image for a profile to name, under a fresh name; `path` is the file as it came. The row is there before the
 * file is: a crash between leaves nothing that the sweep does not find. Throws image_unreadable, image_too_large,
 * images_busy, account_deleted. Contract: 3, uploads.
 */
export async function uploadImage(deps: Needs, { userId, path }: Input) {
  const image = await deps.images.convert(path)
  const filename = `${deps.random.uuid()}.webp`
  const upload = { filename, size: image.length, mimetype: 'image/webp' }
  const createdAt = new Date(deps.clock.now())
  await deps.orm.em.fork().insert(Upload, { ...upload, userId, createdAt })
  await placeFile(deps.config.uploadDir, filename, image)
  await refuseIfGone(deps, filename)
  return { ...upload, url: `/api/uploads/${filename}` }
}

/** Whoever asks for the file gets the whole of it or nothing. */
async function placeFile(folder: string, filename: string, image: Buffer): Promise<void> {
  const part = join(partsFolder(folder), filename)
  try {
    await writeFile(part, image)
    await rename(part, join(folder, filename))
  } finally {
    await rm(part, { force: true })
  }
}

/** The account may have been deleted while its file was being written: then nobody else would remove it. */
async function refuseIfGone({ orm, config }: Needs, filename: string): Promise<void> {
  if ((await orm.em.fork().count(Upload, { filename })) > 0) return
  await rm(join(config.uploadDir, filename), { force: true })
  throw refuse.account_deleted()
}
