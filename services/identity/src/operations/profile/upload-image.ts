import { Upload, type ActingCaller } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { Deps, OperationContext } from '../../deps.ts'
import { storeImage, type StoredImage } from '../../uploads/store-image.ts'
import { refuseBeyondUnclaimed } from '../../uploads/unclaimed-uploads.ts'
import { changeSelf } from '../change-account.ts'

type UploadDeps = OperationContext & Pick<Deps, 'config' | 'images' | 'uploadStore'>

/**
 * Throws image_unreadable, image_too_large, image_too_costly, images_busy, too_many_unclaimed_uploads, account_deleted,
 * token_revoked, UploadStoreUnavailable. Contract: 3, uploads.
 */
export async function uploadImage(deps: UploadDeps, { caller, path }: { caller: ActingCaller; path: string }) {
  const { userId } = caller
  // The lock serializes the uploads of an account.
  const insert = (row: StoredImage) =>
    changeSelf(deps, caller, async (_user, em) => {
      await refuseBeyondUnclaimed(em, { userId, size: row.size })
      await em.insert(Upload, row)
    })
  const { filename, size, mimetype } = await storeImage(deps, { userId, path, insert })
  await refuseIfDeleted(deps, filename)
  return { filename, size, mimetype, url: `/api/uploads/${filename}` }
}

/** The deletion of an account may have recorded the removal before the file was there. */
async function refuseIfDeleted({ orm, uploadStore }: UploadDeps, filename: string): Promise<void> {
  if ((await orm.em.fork().count(Upload, { filename })) > 0) return
  await uploadStore.remove(filename)
  throw refuse.account_deleted()
}
