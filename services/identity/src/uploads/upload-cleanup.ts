import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { transaction } from '@gatehouse/database'
import { FileRemoval } from '@gatehouse/domain'
import { startPeriodicTask, type Timer } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import { isUploadName, tempUploadDir, UploadStoreUnavailable, type UploadStore } from '@gatehouse/uploads'
import { LockMode } from '@mikro-orm/postgresql'
import type { IdentityConfig } from '../config.ts'
import { policy } from '../policy.ts'
import { deleteFiles } from './delete-files.ts'

type CleanupDeps = Pick<Resources, 'orm' | 'log' | 'clock'> & {
  timer: Timer
  uploadStore: UploadStore
  config: Pick<IdentityConfig, 'uploadDir'>
}

export type UploadCleanup = ReturnType<typeof startUploadCleanup>

/** Any number of replicas may run it. Contract: 3, uploads; Design: invariant 4. */
export function startUploadCleanup(deps: CleanupDeps) {
  const { log, timer } = deps
  const options = { name: 'upload cleanup', everyMs: policy.uploadCleanupIntervalMs, firstAfterMs: 0, log, timer }
  const task = startPeriodicTask(options, async () => {
    try {
      await releaseUnclaimed(deps)
      await removeTemporaryFiles(deps)
    } finally {
      await removeRecordedFiles(deps, Infinity)
    }
  })
  return { ...task, removeRecordedFiles: () => removeRecordedFiles(deps, policy.filesRemovedAtOnce) }
}

/** A profile that names the upload at the same moment either has it or is refused. */
async function releaseUnclaimed({ orm, clock }: CleanupDeps): Promise<void> {
  const sql = 'delete from uploads where claimed_at is null and created_at < ? returning filename'
  await deleteFiles(orm.em.fork(), sql, [new Date(clock.now() - policy.unclaimedUploadMs)])
}

async function removeTemporaryFiles({ config, clock }: CleanupDeps): Promise<void> {
  const folder = tempUploadDir(config.uploadDir)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const stats = await stat(path).catch(() => undefined)
    if (stats && clock.now() - stats.mtimeMs > policy.temporaryFileMs) await rm(path, { force: true })
  }
}

/** Oldest first, about `atMost`. Never throws: the next cleanup repeats what failed. */
async function removeRecordedFiles(deps: CleanupDeps, atMost: number): Promise<void> {
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
async function removeBatch(deps: CleanupDeps, after: string): Promise<FileRemoval[]> {
  return await transaction(deps.orm, async (em) => {
    const page = { orderBy: { id: 'asc' }, limit: policy.fileRemovalBatch } as const
    const lockMode = LockMode.PESSIMISTIC_PARTIAL_WRITE
    const batch = await em.find(FileRemoval, { id: { $gt: after } }, { ...page, lockMode })
    const removed = await Promise.all(batch.map(({ filename }) => removeFile(deps, filename)))
    const ids = batch.filter((_, index) => removed[index]).map(({ id }) => id)
    if (ids.length > 0) await em.nativeDelete(FileRemoval, { id: { $in: ids } })
    return batch
  })
}

/** True: the record can go. Another name could lead out of the folder. A store that is away ends the batch. */
async function removeFile({ log, uploadStore }: CleanupDeps, filename: string): Promise<boolean> {
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
