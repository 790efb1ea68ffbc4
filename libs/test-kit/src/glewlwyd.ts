import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readFirstBytes, startConfiguredServer, type LocalServer } from '@gatehouse/local-servers'

/** Its package's own: with the user `admin`, whose password is `password`. */
const tables = '/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3'
const modules = '/usr/lib/glewlwyd'

/** Glewlwyd, an OpenID provider, as its package sets it up. The rest is up to its API, at `<url>/api`. */
export function startGlewlwyd(): Promise<LocalServer> {
  return startConfiguredServer({
    program: 'glewlwyd',
    config: (port, folder) => {
      const database = join(folder, 'glewlwyd.db')
      if (!existsSync(database)) fill(database)
      return `
port = ${port}
bind_address = "127.0.0.1"
external_url = "http://127.0.0.1:${port}"
login_url = "login.html"
api_prefix = "api"
log_mode = "console"
log_level = "INFO"
session_key = "GLEWLWYD2_SESSION_ID"
admin_scope = "g_admin"
profile_scope = "g_profile"
hash_algorithm = "SHA512"
user_module_path = "${modules}/user"
client_module_path = "${modules}/client"
user_auth_scheme_module_path = "${modules}/scheme"
plugin_module_path = "${modules}/plugin"
database = { type = "sqlite3", path = "${database}" }
`
    },
    args: (_port, _folder, configFile) => ['--config-file', configFile],
    url: (port) => `http://127.0.0.1:${port}`,
    isReady: async (port) => (await readFirstBytes(port, 'GET /config HTTP/1.0\r\n\r\n')) !== '',
  })
}

function fill(database: string): void {
  const opened = new DatabaseSync(database)
  opened.exec(readFileSync(tables, 'utf8'))
  opened.close()
}
