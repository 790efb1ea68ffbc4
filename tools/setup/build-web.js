import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dataFolder, root } from './project.js'
import { runBuild } from './run-build.js'
import { hashSources } from './source-hash.js'

const vite = join(root, 'node_modules/vite/bin/vite.js')
const sources = ['services/web', 'libs', 'package-lock.json']

export async function ensureWebBuilt() {
  if (!existsSync(join(root, 'services/web/vite.config.ts'))) return
  const output = join(dataFolder(), 'web')
  const hashFile = `${output}.hash`
  const hash = hashSources(root, sources)
  const isCurrent = existsSync(output) && existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash
  if (isCurrent) return
  const built = await runBuild({
    subject: 'the web app',
    output,
    cwd: join(root, 'services/web'),
    stdout: 'inherit',
    args: (folder) => [
      vite,
      'build',
      join(root, 'services/web'),
      '--outDir',
      folder,
      '--emptyOutDir',
      '--logLevel',
      'warn',
    ],
  })
  rmSync(hashFile, { force: true })
  rmSync(output, { recursive: true, force: true })
  renameSync(built, output)
  writeFileSync(hashFile, hash)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await ensureWebBuilt()
