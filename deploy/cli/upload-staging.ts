import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { UploadStoreConfig } from '@gatehouse/service-kit'
import { openUploadStore } from '@gatehouse/uploads'
import type pg from 'pg'

/** Files at a time: requests to a store take their time, and a disk has its limits. */
const filesAtOnce = 16

/** After a failure it begins with no other file, and throws. */
export async function eachFile(names: Iterable<string>, work: (name: string) => Promise<void>): Promise<void> {
  const rest = take(names)
  const worker = async () => {
    for (const name of rest) await work(name)
  }
  const ends = await Promise.allSettled(Array.from({ length: filesAtOnce }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason as Error
}

/** The first worker that throws ends it for all. */
function* take(names: Iterable<string>) {
  yield* names
}

/** `uploadDir` is on the disk, whatever the store is. */
export type UploadPlace = { uploadDir: string; uploadStore: UploadStoreConfig }

/** A folder beside the uploads, so that a rename makes an upload. A lock of the database tells which are in use. */
export async function openUploadStaging(
  client: pg.ClientBase,
  { uploadDir, uploadStore }: UploadPlace,
  kind: 'backup' | 'import' | 'restore',
) {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const name = `.${kind}-${rows[0]?.pid}`
  const folder = join(uploadDir, name)
  await mkdir(uploadDir, { recursive: true })
  await tryLock(client, name)
  const others = (await readdir(uploadDir)).filter((other) => /^\.(backup|import|restore)-/.test(other))
  for (const other of others) await removeLeftOver(client, uploadDir, other)
  const store = await openUploadStore(uploadStore)
  await store.check()
  await mkdir(folder)
  const published: string[] = []
  return {
    folder,
    /** The last step before the commit. */
    publish: async () =>
      await eachFile(await readdir(folder), async (file) => {
        published.push(file)
        await store.put(file, join(folder, file))
      }),
    /** When the commit failed. */
    withdraw: () => eachFile(published, (file) => store.remove(file)),
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
