import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'

export type UploadStaging = Awaited<ReturnType<typeof openUploadStaging>>

const anyStaging = /^\.(backup|import|restore)-/

/**
 * A folder beside the uploads, so that a rename makes a file an upload. Removes what killed runs left. A lock of the
 * database tells which folders are in use, by runs on other machines too.
 */
export async function openUploadStaging(
  client: pg.ClientBase,
  uploadDir: string,
  kind: 'backup' | 'import' | 'restore',
) {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const name = `.${kind}-${rows[0]?.pid}`
  const folder = join(uploadDir, name)
  await mkdir(uploadDir, { recursive: true })
  await tryLock(client, name)
  for (const other of await readdir(uploadDir)) {
    if (anyStaging.test(other)) await removeLeftOver(client, uploadDir, other)
  }
  await mkdir(folder)
  const published: string[] = []
  return {
    folder,
    /** The last step before the commit. */
    publish: async () => {
      for (const file of await readdir(folder)) {
        published.push(join(uploadDir, file))
        await rename(join(folder, file), join(uploadDir, file))
      }
    },
    /** When the commit failed. */
    withdraw: async () => void (await Promise.all(published.map((path) => rm(path, { force: true })))),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function removeLeftOver(client: pg.ClientBase, uploadDir: string, name: string): Promise<void> {
  if (!(await tryLock(client, name))) return
  await rm(join(uploadDir, name), { recursive: true, force: true })
  await client.query(`select pg_advisory_unlock(hashtext('gatehouse uploads'), hashtext($1))`, [name])
}

/** Of the connection. */
async function tryLock(client: pg.ClientBase, name: string): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>(
    `select pg_try_advisory_lock(hashtext('gatehouse uploads'), hashtext($1)) as locked`,
    [name],
  )
  return rows[0]?.locked === true
}
