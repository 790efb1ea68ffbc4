import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  createScratchFolder,
  findUnprivilegedUser,
  readFirstBytes,
  removeFolder,
  requireProgram,
  startServer,
  type LocalServer,
} from '@gatehouse/local-servers'

/** SSLRequest of PostgreSQL's protocol, which a server without TLS answers with N. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]).toString('latin1')

/** A pooler before a PostgreSQL on this machine, for these users. `url` has no user. */
export async function startPgbouncer(options: {
  postgresPort: number
  passwords: Readonly<Record<string, string>>
}): Promise<LocalServer> {
  const file = requireProgram('pgbouncer')
  await using opening = new AsyncDisposableStack()
  const folder = opening.adopt(await createScratchFolder('pgbouncer'), removeFolder)
  const users = Object.entries(options.passwords).map(([user, password]) => `"${user}" "${password}"\n`)
  await writeFile(join(folder, 'users'), users.join(''), { mode: 0o644 })
  const configOf = (port: number) =>
    [
      ...['[databases]', `* = host=127.0.0.1 port=${options.postgresPort}`],
      ...['[pgbouncer]', 'listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir ='],
      ...['auth_type = scram-sha-256', `auth_file = ${join(folder, 'users')}`, 'pool_mode = session'],
      'default_pool_size = 60',
    ].join('\n')
  return await startServer({
    name: 'pgbouncer',
    folder,
    command: (port) => {
      const config = join(folder, 'pgbouncer.ini')
      writeFileSync(config, configOf(port))
      // Root must not run it.
      return { file, args: [...(findUnprivilegedUser() ? ['-u', 'nobody'] : []), config] }
    },
    url: (port) => `postgres://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port, tlsRequest)) === 'N',
    stopSignal: 'SIGTERM',
    discardSignal: 'SIGKILL',
    resources: opening.move(),
  })
}
