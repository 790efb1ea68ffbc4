import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { changeRows, transaction } from '@gatehouse/database'
import { startPeriodicTask } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import { FileRemoval } from '@gatehouse/domain'
import { LockMode } from '@mikro-orm/postgresql'
import { policy } from '../policy.ts'
import { tempUploadDir, isUploadName } from './upload-files.ts'
import type { IdentityConfig } from '../config.ts'
import { UploadStoreUnavailable, type UploadStore } from './upload-store.ts'

type CleanupDeps = RemovalDeps & Pick<Resources, 'clock'> & { config: Pick<IdentityConfig, 'uploadDir'> }

export type UploadCleanup = AsyncDisposable & {
  runNow(): Promise<void>
  /** Never throws. */
  removeRecordedFiles(options: { atMost: number }): Promise<void>
}

/** Any number of replicas may run it. Contract: 3, uploads; Design: invariant 4. */
export function startUploadCleanup(deps: CleanupDeps): UploadCleanup {
  const { log } = deps
  const options = { name: 'upload cleanup', everyMs: policy.uploadCleanupIntervalMs, log }
  const task = startPeriodicTask(options, () => cleanUpUploads(deps))
  void task.runNow()
  return {
    runNow: () => task.runNow(),
    removeRecordedFiles: (limit) => removeRecordedFiles(deps, limit),
    [Symbol.asyncDispose]: () => task[Symbol.asyncDispose](),
  }
}

async function cleanUpUploads(deps: CleanupDeps): Promise<void> {
  try {
    await releaseUnclaimed(deps)
    await removeTemporaryFiles(deps)
  } finally {
    await removeRecordedFiles(deps, { atMost: Infinity })
  }
}

/** A profile that names the upload at the same moment either has it or is refused. */
async function releaseUnclaimed({ orm, clock }: CleanupDeps): Promise<void> {
  await changeRows(
    orm.em.fork(),
    `with deleted as (delete from uploads where claimed_at is null and created_at < ? returning filename)
     insert into file_removals (filename) select filename from deleted`,
    [new Date(clock.now() - policy.unclaimedUploadMs)],
  )
}

async function removeTemporaryFiles({ config, clock }: CleanupDeps): Promise<void> {
  const folder = tempUploadDir(config.uploadDir)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => undefined)
    if (stats && clock.now() - stats.mtimeMs > policy.temporaryFileMs) await rm(path, { force: true })
  }
}

export type RemovalDeps = Pick<Resources, 'orm' | 'log'> & { uploadStore: UploadStore }

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
async function removeBatch(deps: RemovalDeps, after: string): Promise<FileRemoval[]> {
  return await transaction(deps.orm, async (em) => {
    const batch = await em.find(
      FileRemoval,
      { id: { $gt: after } },
      { orderBy: { id: 'asc' }, limit: policy.fileRemovalBatch, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
    )
    const removed = await Promise.all(batch.map(({ filename }) => removeFile(deps, filename)))
    const ids = batch.filter((_, index) => removed[index]).map(({ id }) => id)
    if (ids.length > 0) await em.nativeDelete(FileRemoval, { id: { $in: ids } })
    return batch
  })
}

/**
 * True: the record can go. Another name than an upload's could lead out of the folder. A store that is away ends the
 * batch.
 */
async function removeFile({ log, uploadStore }: RemovalDeps, filename: string): Promise<boolean> {
  if (!isUploadName(filename)) {
    log.warn('recorded file name is not of an upload, ignored')
    return true
  }
  try {
    await uploadStore.remove(filename)
    return true
  } catch (err) {
    if (err instanceof UploadStoreUnavailable) throw err
    log.warn({ err, filename }, 'file removal failed, will be retried')
    return false
  }
}
