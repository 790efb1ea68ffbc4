// npm run sbom: writes dist/sbom.cdx.json, the packages of an instance as CycloneDX. The image holds the same as sbom.cdx.json.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const args = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx']
const { status, stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })
if (status === 0) {
  const file = join(root, 'dist/sbom.cdx.json')
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(file, stdout)
  const { components } = JSON.parse(stdout) as { components: unknown[] }
  console.log(`dist/sbom.cdx.json: ${components.length} components`)
} else {
  console.error(stderr)
  process.exitCode = 1
}
