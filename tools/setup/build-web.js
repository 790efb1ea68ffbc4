import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataFolder, log, pinnedNode, root } from './project.js'
import { hashSources } from './source-hash.js'

const sources = ['services/web', 'libs', 'package-lock.json']

/** Builds the web app into `<data folder>/web`, unless it is already built from the present sources. */
export async function ensureWebBuilt() {
  if (!existsSync(join(root, 'services/web/vite.config.ts'))) return
  const output = join(dataFolder(), 'web')
  const hashFile = `${output}.hash`
  const hash = hashSources(root, sources)
  const isCurrent = existsSync(output) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash
  if (isCurrent) return
  log('building the web app: its sources have changed since the last build')
  mkdirSync(dataFolder(), { recursive: true })
  // Built elsewhere and renamed, so that a build that fails or is interrupted replaces nothing.
  const temporary = `${output}-${process.pid}`
  const code = await runVite(temporary)
  if (code !== 0) {
    rmSync(temporary, { recursive: true, force: true })
    log(`building the web app failed (exit code ${code}): see its message above`)
    process.exit(1)
  }
  rmSync(hashFile, { force: true })
  rmSync(output, { recursive: true, force: true })
  renameSync(temporary, output)
  writeFileSync(hashFile, hash)
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
