import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { changeRows } from '@gatehouse/database'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'
import { partsFolder } from './parts-folder.ts'
import { removeRecordedFiles } from './recorded-files.ts'

type Needs = Pick<Deps, 'orm' | 'clock' | 'log' | 'config'>

export type UploadSweep = AsyncDisposable & {
  /** One pass now; resolves when it is done. */
  sweep(): Promise<void>
}

/**
 * Once at the start and then every minute: uploads that no profile named in time, files that a deletion or a crash left
 * over, and pieces of uploads that broke off. Any number of replicas may do it. Contract: 3, uploads; Design: invariant 4.
 */
export function startUploadSweep(needs: Needs): UploadSweep {
  let underWay: Promise<void> = Promise.resolve()
  const sweep = () => (underWay = underWay.then(() => sweepOnce(needs)))
  const timer = setInterval(() => void sweep(), policy.sweepIntervalMs)
  timer.unref()
  void sweep()
  return {
    sweep,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await underWay
    },
  }
}

async function sweepOnce(needs: Needs): Promise<void> {
  try {
    await releaseUnclaimed(needs)
    await removeAbandonedParts(needs)
  } catch (error) {
    needs.log.warn({ error }, 'uploads could not be swept, trying again in a minute')
  }
  await removeRecordedFiles(needs, { atMost: Infinity })
}

/** One statement, so that a profile that names the upload at this moment either has it or does not. */
async function releaseUnclaimed({ orm, clock }: Needs): Promise<void> {
  await changeRows(
    orm.em.fork(),
    `with gone as (delete from uploads where claimed_at is null and created_at < ? returning filename)
     insert into file_removals (filename) select filename from gone`,
    [new Date(clock.now() - policy.unclaimedUploadMs)],
  )
}

async function removeAbandonedParts({ config, clock }: Needs): Promise<void> {
  const folder = partsFolder(config.uploadDir)
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found && clock.now() - found.mtimeMs > policy.abandonedPartMs) await rm(path, { force: true })
  }
}
