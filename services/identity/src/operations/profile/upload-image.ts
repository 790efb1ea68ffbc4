import type { ActingCaller } from '@gatehouse/authority'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { limits, type Square } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import { Upload } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { tempUploadDir } from '@gatehouse/uploads'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { deleteFiles } from '../../uploads/delete-files.ts'
import { changeSelf } from '../change-account.ts'

type ReceivedImage = { path: string; crop?: Square }
type UploadDeps = OperationContext & Pick<Deps, 'config' | 'images' | 'uploadStore'>

/** Keeps an image of one's own, or a square of it, until a profile claims it. Throws UploadStoreUnavailable. Contract: 3, uploads. */
export async function uploadImage(deps: UploadDeps, { caller, ...image }: ReceivedImage & { caller: ActingCaller }) {
  const { userId } = caller
  // The lock serializes the uploads of an account.
  const insert = (row: StoredImage) =>
    changeSelf(deps, caller, async (_user, em) => {
      await refuseBeyondUnclaimed(em, { userId, size: row.size })
      await em.insert(Upload, row)
    })
  const { filename, size, mimetype } = await storeImage(deps, { userId, ...image, insert })
  // The deletion of the account may have recorded the removal before the file was there.
  if ((await deps.orm.em.fork().count(Upload, { filename })) === 0) {
    await deps.uploadStore.remove(filename)
    throw refuse.account_deleted()
  }
  return { filename, size, mimetype, url: `/api/uploads/${filename}` }
}

/** Decides only when the account is locked. Throws too_many_unclaimed_uploads. Contract: 3, uploads. */
export async function refuseBeyondUnclaimed(em: EntityManager, { userId, size }: { userId: string; size: number }) {
  const sql = `select count(*)::int as files, coalesce(sum(size), 0)::int as bytes
    from uploads where user_id = ? and claimed_at is null`
  const [unclaimed] = await read<{ files: number; bytes: number }>(em, sql, [userId])
  const { files, bytes } = unclaimed ?? { files: 0, bytes: 0 }
  if (files >= limits.unclaimedUploadsMax || bytes + size > limits.unclaimedUploadBytesMax) {
    throw refuse.too_many_unclaimed_uploads()
  }
}

export type StoredImage = { filename: string; size: number; mimetype: string; userId: string; createdAt: Date }

type NewImage = ReceivedImage & { userId: string; insert: (row: StoredImage) => Promise<void> }

/** The row comes before the file's name: after a crash the cleanup finds both. Throws as `convert` and the store do. */
export async function storeImage(deps: UploadDeps, { userId, insert, ...image }: NewImage): Promise<StoredImage> {
  const filename = `${deps.random.uuid()}.webp`
  const target = join(tempUploadDir(deps.config.uploadDir), filename)
  try {
    const size = await deps.images.convert({ userId, target, ...image })
    const row = { filename, size, mimetype: 'image/webp', userId, createdAt: new Date(deps.clock.now()) }
    await insert(row)
    await deps.uploadStore.put(filename, target).catch(async (error: unknown) => {
      // The store may have the file although it did not say so.
      await deleteFiles(deps.orm.em.fork(), 'delete from uploads where filename = ? returning filename', [filename])
      throw error
    })
    return row
  } finally {
    await rm(target, { force: true })
  }
}
