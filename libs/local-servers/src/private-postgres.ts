import { chown, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { findBinaries, runInitdb } from './postgres-binaries.ts'
import type { PrivateServer } from './private-server.ts'
import { startServer } from './server-process.ts'
import { asUser, findUnprivilegedUser } from './unprivileged-user.ts'
import { createWorkFolder } from './work-folder.ts'

/**
 * A PostgreSQL server of one's own (the binaries that npm brought; works as root too), empty and removed in the end. What
 * was committed survives `kill()`: only a crash of the machine could lose it. `settings` are server parameters, for
 * example max_connections.
 */
export async function privatePostgres(options: { settings?: Record<string, string> } = {}): Promise<PrivateServer> {
  const { postgres, initdb } = await findBinaries()
  const folder = await createWorkFolder('postgres')
  const data = join(folder, 'data')
  const user = findUnprivilegedUser()
  await mkdir(data, { mode: 0o700 })
  if (user) await Promise.all([chown(folder, user.uid, user.gid), chown(data, user.uid, user.gid)])
  const initArgs = ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  try {
    await runInitdb(asUser(user, { file: initdb, args: initArgs }, [initdb, data]), folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  const settings = { fsync: 'off', max_connections: '100', ...options.settings }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return startServer({
    name: 'postgres',
    folder,
    command(port) {
      const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', '', ...flags]
      return asUser(user, { file: postgres, args }, [postgres, data])
    },
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    isReady,
    stopSignal: 'SIGINT',
    discardSignal: 'SIGQUIT',
  })
}

async function isReady(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}
