// npm run sbom: writes dist/sbom.cdx.json, the packages of an instance as CycloneDX. The image holds the same as sbom.cdx.json.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup/project.js'

type Sbom = {
  serialNumber?: string
  metadata: { timestamp?: string; tools: { version?: string }[]; component: { name: string } }
  components: unknown[]
}

/** Without what differs from one run, folder or npm to the next. */
export function listComponents(): string {
  const args = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx']
  const sbom = JSON.parse(execFileSync('npm', args, { cwd: root, maxBuffer: 64 * 1024 ** 2, encoding: 'utf8' })) as Sbom
  delete sbom.serialNumber
  delete sbom.metadata.timestamp
  for (const tool of sbom.metadata.tools) delete tool.version
  // npm takes the name of the folder.
  sbom.metadata.component.name = 'gatehouse'
  return `${JSON.stringify(sbom, null, 2)}\n`
}

if (import.meta.main) {
  const text = listComponents()
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(join(root, 'dist/sbom.cdx.json'), text)
  console.log(`dist/sbom.cdx.json: ${(JSON.parse(text) as Sbom).components.length} components`)
}
