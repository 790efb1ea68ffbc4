import { transaction } from '@gatehouse/database'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { FileRemoval } from '@gatehouse/domain'
import type { Resources } from '@gatehouse/service-kit'
import { LockMode } from '@mikro-orm/postgresql'
import type { IdentityConfig } from '../config.ts'
import { policy } from '../policy.ts'
import { isUploadName } from './upload-files.ts'

export type RemovalDeps = Pick<Resources, 'orm' | 'log'> & { config: Pick<IdentityConfig, 'uploadDir'> }

/** Oldest first, about `atMost`. Never throws: the next cleanup repeats what failed. Any number of replicas may run it. */
export async function removeRecordedFiles(deps: RemovalDeps, { atMost }: { atMost: number }): Promise<void> {
  try {
    let after = '0'
    for (let seen = 0; seen < atMost; seen += policy.fileRemovalBatch) {
      const batch = await removeBatch(deps, after)
      const last = batch.at(-1)
      if (!last || batch.length < policy.fileRemovalBatch) return
      after = last.id
    }
  } catch (err) {
    deps.log.warn({ err }, 'file removal failed, left to the next cleanup')
  }
}

/** A crash between file and record repeats a removal that finds nothing. */
async function removeBatch({ orm, log, config }: RemovalDeps, after: string): Promise<FileRemoval[]> {
  return await transaction(orm, async (em) => {
    const batch = await em.find(
      FileRemoval,
      { id: { $gt: after } },
      { orderBy: { id: 'asc' }, limit: policy.fileRemovalBatch, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
    )
    const removed = await Promise.all(batch.map(({ filename }) => removeFile(log, config.uploadDir, filename)))
    const ids = batch.filter((_, index) => removed[index]).map(({ id }) => id)
    if (ids.length > 0) await em.nativeDelete(FileRemoval, { id: { $in: ids } })
    return batch
  })
}

/** True: the record can go. Another name than an upload's could lead out of the folder. */
async function removeFile(log: Resources['log'], uploadDir: string, filename: string): Promise<boolean> {
  if (!isUploadName(filename)) {
    log.warn('recorded file name is not of an upload, ignored')
    return true
  }
  try {
    await unlink(join(uploadDir, filename))
    return true
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return true
    log.warn({ err, filename }, 'file removal failed, will be retried')
    return false
  }
}
