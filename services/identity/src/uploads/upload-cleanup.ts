import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { changeRows } from '@gatehouse/database'
import { startPeriodicTask } from '@gatehouse/runtime'
import type { Resources } from '@gatehouse/service-kit'
import { policy } from '../policy.ts'
import { removeRecordedFiles, type RemovalDeps } from './recorded-files.ts'
import { tempUploadDir } from './upload-files.ts'

type CleanupDeps = RemovalDeps & Pick<Resources, 'clock'>

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
