import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inflateRawSync } from 'node:zlib'
import { parseAllDocuments, stringify } from 'yaml'
import { projectRoot, type Manifest } from './read-manifests.ts'

const run = promisify(execFile)
// A package whose archive has the program helm for Linux on x64.
const layer = join(projectRoot, 'node_modules/@aws-cdk/asset-kubectl-v20/lib/layer.zip')

/** Helm 3.8.1. Where it does not run, the one on the PATH. */
export async function openHelm() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-helm-'))
  const program = process.platform === 'linux' && process.arch === 'x64' ? join(folder, 'helm') : 'helm'
  if (program !== 'helm') await writeFile(program, readZipped(await readFile(layer), 'helm/helm'), { mode: 0o755 })
  /** The objects of a `helm template`. */
  async function template(args: readonly string[]): Promise<Manifest[]> {
    const options = { cwd: projectRoot, maxBuffer: 16 * 1024 ** 2 }
    const { stdout } = await run(program, [...args, '--kube-version', '1.34.0'], options)
    return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
  }
  return {
    /** What an installation with these values has. Throws with what helm says. */
    async render(chart: string, values: object): Promise<Manifest[]> {
      const file = join(folder, 'values.yaml')
      await writeFile(file, stringify(values))
      return await template(['template', 'gatehouse', chart, '--values', file])
    },
    template,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** One file of a zip archive, by the central directory at its end. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
function readZipped(archive: Buffer, name: string): Buffer {
  let at = archive.readUInt32LE(archive.lastIndexOf('PK\x05\x06', undefined, 'latin1') + 16)
  while (archive.readUInt32LE(at) === 0x02014b50) {
    const nameEnd = at + 46 + archive.readUInt16LE(at + 28)
    if (archive.toString('latin1', at + 46, nameEnd) === name) {
      const header = archive.readUInt32LE(at + 42)
      const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
      return inflateRawSync(archive.subarray(start, start + archive.readUInt32LE(at + 20)))
    }
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  throw new Error(`the archive has no ${name}`)
}
