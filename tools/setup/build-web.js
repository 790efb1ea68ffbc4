import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataFolder, root } from './project.js'
import { hashSources, runBuild } from './run-build.js'

const vite = join(root, 'node_modules/vite/bin/vite.js')
const sources = ['services/web', 'libs', 'tools/browsers', 'package-lock.json']

export async function ensureWebBuilt() {
  if (!existsSync(join(root, 'services/web/vite.config.ts'))) return
  const output = join(dataFolder(), 'web')
  const hashFile = `${output}.hash`
  const hash = hashSources(root, sources)
  if (existsSync(output) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash) return
  const cwd = join(root, 'services/web')
  const flags = ['--emptyOutDir', '--logLevel', 'warn']
  const args = (folder) => [vite, 'build', cwd, '--outDir', folder, ...flags]
  const built = await runBuild({ subject: 'the web app', output, cwd, stdout: 'inherit', args })
  rmSync(hashFile, { force: true })
  rmSync(output, { recursive: true, force: true })
  renameSync(built, output)
  writeFileSync(hashFile, hash)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureWebBuilt()
