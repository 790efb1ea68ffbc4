import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { log, root } from './project.js'

const progressIntervalMs = 10_000

export async function ensureInstalled() {
  const reason = reasonToInstall(root)
  if (!reason) return
  log(`installing packages with npm ci (${reason}); the first time takes a minute or two`)
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1000)
  const progress = setInterval(() => log(`still installing packages (${seconds()} s)`), progressIntervalMs)
  const code = await npmCi()
  clearInterval(progress)
  if (code !== 0) {
    log(`npm ci failed (exit code ${code}): see its message above, then run the command again`)
    process.exit(1)
  }
  writeMarker(root)
  log(`packages are installed (${seconds()} s)`)
}

/** @param {string} folder of the project. Gives why its packages must be installed; null when they are as locked. */
export function reasonToInstall(folder) {
  const modules = join(folder, 'node_modules')
  if (!existsSync(join(modules, 'node/bin/node'))) return 'nothing is installed yet'
  const marker = join(modules, '.gatehouse-lock')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lockHash(folder)) return null
  if (!isAsLocked(folder)) return 'package-lock.json has changed'
  writeMarker(folder)
  return null
}

/** @param {string} folder of the project. Gives a hash of its lock file and of the platform, for which npm selects packages. */
export function lockHash(folder) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`)
  return hash.update(readFileSync(join(folder, 'package-lock.json'))).digest('hex')
}

function writeMarker(folder) {
  writeFileSync(join(folder, 'node_modules/.gatehouse-lock'), lockHash(folder))
}

/** Whether npm's own record of what it installed has every package of the lock file: `npm install` may have been run by hand. */
function isAsLocked(folder) {
  const record = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(record)) return false
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages
  const [locked, installed] = [packagesOf(join(folder, 'package-lock.json')), packagesOf(record)]
  return Object.entries(locked).every(([path, { version, optional, link }]) => {
    if (!path.startsWith('node_modules/')) return true
    if (!installed[path]) return optional === true
    return link ? installed[path].link === true : installed[path].version === version
  })
}

/** Gives its exit code. */
function npmCi() {
  // npm ci removes the pinned Node.
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  const env = { ...process.env, PATH: path.join(delimiter) }
  // npm would warn of packages that need the pinned Node.
  const npm = spawn('npm', ['ci', '--loglevel=error'], { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] })
  return new Promise((resolve) => {
    npm.once('error', (error) => {
      log(`npm cannot be run: ${error.message}`)
      resolve(1)
    })
    npm.once('exit', (code, signal) => resolve(code ?? (signal ? 130 : 1)))
  })
}
