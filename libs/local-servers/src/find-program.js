// Plain JavaScript: the scripts of tools/setup use it before packages are installed.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that are not npm packages: the variable with the path of each, its usual names, its Debian package. */
export const programs = {
  'nats-server': { variable: 'NATS_SERVER_BIN', names: ['nats-server'], package: 'nats-server' },
  'redis-server': { variable: 'REDIS_SERVER_BIN', names: ['redis-server'], package: 'redis-server' },
  pgbouncer: { variable: 'PGBOUNCER_BIN', names: ['pgbouncer'], package: 'pgbouncer' },
  nginx: { variable: 'NGINX_BIN', names: ['nginx'], package: 'nginx' },
  caddy: { variable: 'CADDY_BIN', names: ['caddy'], package: 'caddy' },
  python3: { variable: 'PYTHON_BIN', names: ['python3'], package: 'python3' },
  chromium: {
    variable: 'CHROMIUM_BIN',
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    package: 'chromium',
  },
}

// Debian installs servers here; the PATH of a user who is not root often lacks these folders.
const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/**
 * The full path of a program: from its variable, else the first on PATH or in the system's folders; else null.
 * @param {keyof typeof programs} name
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}
 */
export function findProgram(name, env = process.env) {
  const { variable, names } = programs[name]
  const path = env[variable]
  if (path) return isProgram(path) ? path : null
  return findOnPath(names, env)
}

/**
 * The full path of the first of these names on PATH or in the system's folders; else null.
 * @param {string[]} names
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}
 */
export function findOnPath(names, env = process.env) {
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...(env.PATH ? systemFolders : [])]
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return candidates.find(isProgram) ?? null
}

/**
 * One line: which program is missing, and the remedy.
 * @param {keyof typeof programs} name
 * @param {Record<string, string | undefined>} env
 */
export function missingProgram(name, env = process.env) {
  const { variable, package: debianPackage } = programs[name]
  if (env[variable]) return `${variable}=${env[variable]} is not an executable file: correct or unset it`
  return `${name} is missing: install it (Debian, Ubuntu: apt-get install ${debianPackage}) or set ${variable} to its path`
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
