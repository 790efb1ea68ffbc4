import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root, say } from './project.js'

const STILL_BUSY_EVERY_MS = 10_000

/** Runs `npm ci` when node_modules is not what package-lock.json says, and says so; else does nothing, in milliseconds. */
export async function ensureInstalled() {
  const reason = reasonToInstall(root)
  if (!reason) return
  say(`installing packages with npm ci (${reason}); the first time takes a minute or two`)
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1000)
  const stillBusy = setInterval(() => say(`still installing packages (${seconds()} s)`), STILL_BUSY_EVERY_MS)
  const code = await npmCi()
  clearInterval(stillBusy)
  if (code !== 0) {
    say(`npm ci failed (exit code ${code}): see its message above, then run the command again`)
    process.exit(1)
  }
  writeMarker(root)
  say(`packages are installed (${seconds()} s)`)
}

/**
 * Why the packages must be installed, or null when they are as locked.
 * @param {string} folder the project's
 * @returns {string | null}
 */
export function reasonToInstall(folder) {
  const modules = join(folder, 'node_modules')
  if (!existsSync(join(modules, 'node/bin/node'))) return 'nothing is installed yet'
  const marker = join(modules, '.gatehouse-lock')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lockHash(folder)) return null
  if (!isAsLocked(folder)) return 'package-lock.json has changed'
  writeMarker(folder)
  return null
}

/**
 * Identifies what should be installed: the locked packages, for this kind of machine.
 * @param {string} folder
 */
export function lockHash(folder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  return hash.update(readFileSync(join(folder, 'package-lock.json'))).digest('hex')
}

/** @param {string} folder */
function writeMarker(folder) {
  writeFileSync(join(folder, 'node_modules/.gatehouse-lock'), lockHash(folder))
}

/**
 * Whether a plain `npm install` has brought what the lock file lists: npm keeps its own record of what it installed.
 * @param {string} folder
 */
function isAsLocked(folder) {
  const record = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(record)) return false
  const locked = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages
  return Object.entries(locked).every(([path, { version, optional, link }]) => {
    if (!path.startsWith('node_modules/')) return true
    if (!installed[path]) return optional === true
    return link ? installed[path].link === true : installed[path].version === version
  })
}

/** @returns {Promise<number>} npm's exit code */
function npmCi() {
  // The pinned runtime is among what npm ci removes first, so npm must not run on it.
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const env = { ...process.env, PATH: path.join(delimiter) }
  // Only errors: packages that want a newer Node than the machine's own get it, as the pinned runtime.
  const npm = spawn('npm', ['ci', '--loglevel=error'], { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  return new Promise((resolve) => {
    npm.once('error', (error) => {
      say(`npm cannot be run: ${error.message}`)
      resolve(1)
    })
    npm.once('exit', (code, signal) => resolve(code ?? (signal ? 130 : 1)))
  })
}
