// Plain JavaScript: the scripts of tools/setup use it before packages are installed.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that are not npm packages, by their names at Debian: the variable with the path of each. */
export const programs = {
  'nats-server': 'NATS_SERVER_BIN',
  'redis-server': 'REDIS_SERVER_BIN',
  pgbouncer: 'PGBOUNCER_BIN',
  nginx: 'NGINX_BIN',
  caddy: 'CADDY_BIN',
  haproxy: 'HAPROXY_BIN',
  python3: 'PYTHON_BIN',
  'chromium-headless-shell': 'CHROMIUM_BIN',
  'firefox-esr': 'FIREFOX_BIN',
  'webkit2gtk-driver': 'WEBKIT_DRIVER_BIN',
  xvfb: 'XVFB_BIN',
  apache2: 'APACHE2_BIN',
  'libapache2-mod-auth-openidc': 'MOD_AUTH_OPENIDC',
  glewlwyd: 'GLEWLWYD_BIN',
  buildah: 'BUILDAH_BIN',
}
const otherNames = {
  'chromium-headless-shell': ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
  'firefox-esr': ['firefox'],
  'webkit2gtk-driver': ['WebKitWebDriver'],
  xvfb: ['Xvfb'],
}

/**
 * Libraries that a server loads are no programs on PATH.
 * @type {Partial<Record<keyof typeof programs, string>>}
 */
const libraries = { 'libapache2-mod-auth-openidc': '/usr/lib/apache2/modules/mod_auth_openidc.so' }

// Debian installs servers here; the PATH of a user who is not root often lacks these folders.
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/** @param {keyof typeof programs} name Gives its full path: from its variable, else as `findOnPath`. */
export function findProgram(name, env = process.env) {
  const path = env[programs[name]]
  const library = libraries[name]
  if (library) return existsSync(path || library) ? path || library : null
  if (path) return isProgram(path) ? path : null
  return findOnPath([name, ...(otherNames[name] ?? [])], env)
}

/** @param {string[]} names Gives the full path of the first on PATH or in the system's folders; else null. */
export function findOnPath(names, env = process.env) {
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...(env.PATH ? systemFolders : [])]
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram) ?? null
}

/** @param {keyof typeof programs} name As `findProgram`. Throws with the remedy when there is none. */
export function requireProgram(name) {
  const path = findProgram(name)
  if (path === null) throw new Error(missingProgram(name))
  return path
}

/** @param {keyof typeof programs} name Gives one line: that it is missing, and the remedy. */
export function missingProgram(name, env = process.env) {
  const variable = programs[name]
  if (env[variable]) return `${variable}=${env[variable]} is not an executable file: correct or unset it`
  return `${name} is missing: install it (Debian, Ubuntu: apt-get install ${name}) or set ${variable} to its path`
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
