import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataFolder, pinnedNode, root, say } from './project.js'

const SOURCES = ['services/web', 'libs', 'package-lock.json']
const NOT_SOURCES = /(^|\/)(node_modules|dist|test|test-kit)(\/|$)|\.test\.tsx?$|\.md$/

/** Builds the web app into `<data folder>/web` when it is missing or its sources have changed since. */
export async function ensureWebBuilt() {
  if (!existsSync(join(root, 'services/web/vite.config.ts'))) return
  const output = join(dataFolder(), 'web')
  const hashFile = `${output}.hash`
  const hash = hashSources(root, SOURCES)
  const isCurrent = existsSync(output) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash
  if (isCurrent) return
  say('building the web app (its sources are new or have changed)')
  mkdirSync(dataFolder(), { recursive: true })
  // Built aside, so that a build that fails or is interrupted leaves no half of it where it is served.
  const unfinished = `${output}-${process.pid}`
  const code = await runVite(unfinished)
  if (code !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    say(`building the web app failed (exit code ${code}): see its message above`)
    process.exit(1)
  }
  rmSync(hashFile, { force: true })
  rmSync(output, { recursive: true, force: true })
  renameSync(unfinished, output)
  writeFileSync(hashFile, hash)
}

/**
 * One hash over the paths and contents of all source files below these paths.
 * @param {string} folder what the paths are relative to
 * @param {string[]} paths
 */
export function hashSources(folder, paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    for (const file of listSources(folder, join(folder, path))) {
      hash
        .update(`${relative(folder, file)}\0`)
        .update(readFileSync(file))
        .update('\0')
    }
  }
  return hash.digest('hex')
}

/**
 * @param {string} folder
 * @param {string} path
 * @returns {string[]}
 */
function listSources(folder, path) {
  if (NOT_SOURCES.test(relative(folder, path))) return []
  if (statSync(path).isFile()) return [path]
  const names = readdirSync(path).sort()
  return names.flatMap((name) => listSources(folder, join(path, name)))
}

/**
 * @param {string} output
 * @returns {Promise<number>}
 */
function runVite(output) {
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  const flags = ['build', join(root, 'services/web'), '--outDir', output, '--emptyOutDir', '--logLevel', 'warn']
  const child = spawn(pinnedNode, ['--disable-warning=ExperimentalWarning', vite, ...flags], {
    cwd: join(root, 'services/web'),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureWebBuilt()
