import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findUnprivilegedUser, readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'

/** SSLRequest of PostgreSQL's protocol, which a server without TLS answers with N. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]).toString('latin1')

/** A pooler before a PostgreSQL on this machine, for these users. `url` has no user. */
export function startPgbouncer(options: {
  postgresPort: number
  passwords: Readonly<Record<string, string>>
}): Promise<LocalServer> {
  const users = Object.entries(options.passwords).map(([user, password]) => `"${user}" "${password}"\n`)
  return startConfiguredServer({
    program: 'pgbouncer',
    config: (port, folder) => {
      const usersFile = join(folder, 'users')
      writeFileSync(usersFile, users.join(''), { mode: 0o644 })
      return [
        '[databases]',
        `* = host=127.0.0.1 port=${options.postgresPort}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = scram-sha-256',
        `auth_file = ${usersFile}`,
        'pool_mode = session',
        'default_pool_size = 60',
      ].join('\n')
    },
    // Root must not run it.
    args: (_port, _folder, configFile) => [...(findUnprivilegedUser() ? ['-u', 'nobody'] : []), configFile],
    url: (port) => `postgres://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port, tlsRequest)) === 'N',
  })
}
