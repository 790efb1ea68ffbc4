import { join } from 'node:path'
import { acceptsQueries, initDatabase, loadPostgresPrograms, postgresCommand } from './postgres-commands.ts'
import { createScratchFolder, removeFolder } from './scratch-folder.ts'
import { startServer } from './server-process.ts'
import type { LocalServer } from './server-process.ts'

/** Committed data survive `kill()`. fsync is off: a crash of the machine may lose them. */
export async function startEphemeralPostgres(
  options: { settings?: Record<string, string> } = {},
): Promise<LocalServer> {
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('postgres'), removeFolder)
  const data = join(folder, 'data')
  const { postgres } = await loadPostgresPrograms()
  await initDatabase(data, ['-U', 'postgres', '--auth=trust', '--no-sync'])
  // A killed server leaves shared memory of the system behind.
  const withinFolder = { dynamic_shared_memory_type: 'mmap' }
  const settings = { fsync: 'off', max_connections: '100', ...withinFolder, ...options.settings }
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`
  return await startServer({
    name: 'postgres',
    folder,
    command: (port) => postgresCommand({ postgres, data, port, settings }),
    url,
    isReady: (port) => acceptsQueries(url(port)),
    stopSignal: 'SIGINT',
    discardSignal: 'SIGQUIT',
    resources: opening.move(),
  })
}
