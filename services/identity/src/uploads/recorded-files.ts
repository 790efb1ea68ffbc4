import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { changeRows, selectRows } from '@gatehouse/database'
import type { MikroORM } from '@mikro-orm/postgresql'
import type { Deps } from '../deps.ts'
import { isUploadName } from './upload-name.ts'

type Needs = Pick<Deps, 'orm' | 'log'> & { config: Pick<Deps['config'], 'uploadDir'> }
type Row = { id: string; filename: string }
type Batch = { after: string; limit: number }

const batchSize = 200

/**
 * Removes the files that committed transactions left for removal, oldest first, until none or `atMost` are left. Never
 * throws: what cannot be done now is done by the next sweep. Any number of replicas may do it at once.
 */
export async function removeRecordedFiles(needs: Needs, { atMost }: { atMost: number }): Promise<void> {
  try {
    let after = '0'
    for (let seen = 0; seen < atMost; seen += batchSize) {
      const rows = await removeBatch(needs, { after, limit: batchSize })
      if (rows.length < batchSize) return
      after = rows.at(-1)!.id
    }
  } catch (error) {
    needs.log.warn({ error }, 'files to remove are left for the next sweep')
  }
}

async function removeBatch({ orm, log, config }: Needs, batch: Batch): Promise<Row[]> {
  return await orm.em.fork().transactional(async (em) => {
    const rows = await takeRows(em, batch)
    const gone = await Promise.all(rows.map(({ filename }) => removeFile({ log, folder: config.uploadDir }, filename)))
    const ids = rows.filter((_, index) => gone[index]).map((row) => row.id)
    if (ids.length > 0)
      await changeRows(em, 'delete from file_removals where id = any(?::bigint[])', [`{${ids.join(',')}}`])
    return rows
  })
}

async function takeRows(em: MikroORM['em'], { after, limit }: Batch): Promise<Row[]> {
  return await selectRows<Row>(
    em,
    `select id::text as id, filename from file_removals where file_removals.id > ?
     order by file_removals.id limit ? for update skip locked`,
    [after, limit],
  )
}

/** Whether there is nothing left to do. A name that is none of ours is dropped: it could lead anywhere. */
async function removeFile({ log, folder }: { log: Deps['log']; folder: string }, filename: string): Promise<boolean> {
  if (!isUploadName(filename)) {
    log.warn('a recorded file has a name that is no file of ours; left alone')
    return true
  }
  try {
    await unlink(join(folder, filename))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
    log.warn({ error, filename }, 'a file could not be removed and will be tried again')
    return false
  }
}
