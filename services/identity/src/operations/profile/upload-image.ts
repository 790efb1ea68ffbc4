import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Upload, type ActingCaller } from '@gatehouse/domain'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { refuseBeyondUnclaimed } from '../../uploads/unclaimed-uploads.ts'
import { tempUploadDir } from '../../uploads/upload-files.ts'
import { changeSelf } from '../change-account.ts'

type UploadDeps = OperationContext & Pick<Deps, 'config' | 'images'>
type StoredImage = { filename: string; size: number; mimetype: string }

/**
 * Inserts the row before the file has its name: after a crash the cleanup finds both. Throws image_unreadable,
 * image_too_large, image_too_costly, images_busy, too_many_unclaimed_uploads, account_deleted, token_revoked. Contract: 3,
 * uploads.
 */
export async function uploadImage(deps: UploadDeps, { caller, path }: { caller: ActingCaller; path: string }) {
  const { uploadDir } = deps.config
  const filename = `${deps.random.uuid()}.webp`
  const target = join(tempUploadDir(uploadDir), filename)
  try {
    const size = await deps.images.convert({ userId: caller.userId, path, target })
    const upload = { filename, size, mimetype: 'image/webp' }
    await insertUpload(deps, { caller, upload })
    // A request for the file gets all of it or nothing.
    await rename(target, join(uploadDir, filename))
    await refuseIfDeleted(deps, filename)
    return { ...upload, url: `/api/uploads/${filename}` }
  } finally {
    await rm(target, { force: true })
  }
}

/** The lock serializes the uploads of an account. */
async function insertUpload(
  { orm, clock }: UploadDeps,
  { caller, upload }: { caller: ActingCaller; upload: StoredImage },
): Promise<void> {
  await changeSelf({ orm }, caller, async ({ id: userId }, em) => {
    await refuseBeyondUnclaimed(em, { userId, size: upload.size })
    await em.insert(Upload, { ...upload, userId, createdAt: new Date(clock.now()) })
  })
}

/** The deletion of an account may have recorded the removal before the file was there. */
async function refuseIfDeleted({ orm, config }: UploadDeps, filename: string): Promise<void> {
  if ((await orm.em.fork().count(Upload, { filename })) > 0) return
  await rm(join(config.uploadDir, filename), { force: true })
  throw refuse.account_deleted()
}
