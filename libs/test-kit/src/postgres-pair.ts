import { execFile } from 'node:child_process'
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createScratchFolder, removeFolder, startPersistentPostgres, type LocalServer } from '@gatehouse/local-servers'
import pg from 'pg'

const run = promisify(execFile)
const password = 'of a pair'
const settings = { fsync: 'off', dynamic_shared_memory_type: 'mmap', max_connections: '100' }

export type PostgresPair = AsyncDisposable & {
  primary: LocalServer
  standby: LocalServer
  /** The one of both that takes writes: `primary` until the first failover. */
  current(): LocalServer
  /** The other one takes over, with all that was committed. The former one comes back as its standby; its connections end. */
  failOver(): Promise<void>
}

/** A primary and a standby that replicates it, with the same users, passwords and databases. */
export async function startPostgresPair(): Promise<PostgresPair> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('pair'), removeFolder)
  // PostgreSQL may run as another user.
  await chmod(folder, 0o711)
  const folders = { primary: join(folder, 'a'), standby: join(folder, 'b') }
  const start = (of: string) => startPersistentPostgres({ folder: of, password, settings })
  const primary = opening.use(await start(folders.primary))
  await primary.stop()
  await mkdir(folders.standby)
  await run('cp', ['-a', join(folders.primary, 'data'), folders.standby])
  await primary.start()
  await follow(folders.standby, primary)
  const standby = opening.use(await start(folders.standby))
  const open = opening.move()
  let [current, other] = [
    { server: primary, folder: folders.primary },
    { server: standby, folder: folders.standby },
  ]
  return {
    primary,
    standby,
    current: () => current.server,
    async failOver() {
      // It sends everything before it ends.
      await current.server.stop()
      await promote(other.server)
      await follow(current.folder, other.server)
      await current.server.start()
      ;[current, other] = [other, current]
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** From its next start. */
async function follow(folder: string, { port }: LocalServer): Promise<void> {
  const source = `host=127.0.0.1 port=${port} user=gatehouse password=''${password}''`
  await appendFile(join(folder, 'data/postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  await writeFile(join(folder, 'data/standby.signal'), '')
}

async function promote({ url }: LocalServer): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('select pg_promote()')
  await client.end()
}
