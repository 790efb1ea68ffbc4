// Plain JavaScript: the set-up scripts use it before anything is installed.
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The programs that npm cannot bring: the variable that names each, its usual names, its Debian package. */
export const programs = {
  'nats-server': { variable: 'NATS_SERVER_BIN', names: ['nats-server'], package: 'nats-server' },
  'redis-server': { variable: 'REDIS_SERVER_BIN', names: ['redis-server'], package: 'redis-server' },
  chromium: {
    variable: 'CHROMIUM_BIN',
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    package: 'chromium',
  },
}

// Debian keeps servers here, and a plain user's PATH often lacks it.
const SYSTEM_FOLDERS = ['/usr/local/sbin', '/usr/sbin', '/sbin']

/**
 * The full path of a program: the one its variable names, else the first on PATH or in the system's folders; null when
 * there is none.
 * @param {keyof typeof programs} name
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}
 */
export function findProgram(name, env = process.env) {
  const { variable, names } = programs[name]
  const named = env[variable]
  if (named) return isProgram(named) ? named : null
  return findOnPath(names, env)
}

/**
 * The full path of the first of these names on PATH or in the system's folders, or null.
 * @param {string[]} names
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}
 */
export function findOnPath(names, env = process.env) {
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...(env.PATH ? SYSTEM_FOLDERS : [])]
  const candidates = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return candidates.find(isProgram) ?? null
}

/**
 * One line that says what is missing and what to do about it.
 * @param {keyof typeof programs} name
 * @param {Record<string, string | undefined>} env
 */
export function missingProgram(name, env = process.env) {
  const { variable, package: debianPackage } = programs[name]
  if (env[variable]) return `${variable}=${env[variable]} is not a program that can be run: correct or unset it`
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
