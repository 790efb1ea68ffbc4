import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { buildClient } from '../../libs/client/build/build-client.ts'
import { buildUpstream } from '../../libs/upstream/build/build-upstream.ts'
import { root } from '../setup/project.js'
import { readLockedPackages, writeLicenses } from '../supply-chain/licenses.ts'
import { listComponents } from '../supply-chain/sbom.ts'
import { readBaseImages } from './base-images.ts'
import { findImageTool, type ImageSource } from './image-tool.ts'
import { packTarGz, readTar, type TarEntry } from './tar.ts'

/** Writes `.gatehouse/release/<version>`. Gives whether it has all that was asked for. Throws before it writes for a tree that is no commit. */
export async function writeRelease({ withImage, log }: { withImage: boolean; log: (line: string) => void }) {
  const source = readSource()
  const notes = readNotes(source.version)
  const folder = join(root, '.gatehouse/release', source.version)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const names: string[] = []
  const add = (name: string, body: Buffer | string): void => {
    writeFileSync(join(folder, name), body)
    names.push(name)
    log(`${name}: ${body.length} bytes`)
  }
  add('notes.md', notes)
  add('gatehouse.cdx.json', listComponents())
  add('THIRD-PARTY-LICENSES.txt', writeLicenses(readLockedPackages()))
  for (const [name, body] of await buildPackages(source.createdAt)) add(name, body)
  const chart = listTracked('deploy/helm/gatehouse', 'gatehouse')
  add(`gatehouse-chart-${source.version}.tgz`, await packTarGz(chart, source.createdAt))
  const parts = ['deploy/kubernetes', 'deploy/observability', 'deploy/make-secrets.sh', 'deploy/nats']
  const manifests = parts.flatMap((path) => listTracked(path, join(`gatehouse-${source.version}`, path)))
  add(`gatehouse-kustomize-${source.version}.tar.gz`, await packTarGz(manifests, source.createdAt))
  let tool: string | undefined
  let problem: string | undefined
  if (withImage) {
    try {
      const name = `gatehouse-${source.version}.oci.tar`
      tool = await buildImage(source, join(folder, name))
      names.push(name)
      log(`${name}: ${statSync(join(folder, name)).size} bytes`)
    } catch (err) {
      problem = (err as Error).message
    }
  }
  const provenance = describeProvenance(folder, names, source, tool)
  add('provenance.json', `${JSON.stringify(provenance, null, 2)}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), names.map((name) => `${sha256(join(folder, name))}  ${name}\n`).join(''))
  log(`.gatehouse/release/${source.version}: ${names.length} files and SHA256SUMS of ${source.commit}`)
  if (problem !== undefined) log(`NO IMAGES: ${problem}`)
  return problem === undefined
}

/** Gives the name of the tool that built it. Throws where a base image has no digest, and with what the tool said. */
async function buildImage(source: ImageSource, archive: string): Promise<string> {
  const unnamed = readBaseImages(root).find(({ digest }) => !digest)
  if (unnamed) {
    const { name, tag } = unnamed
    throw new Error(`${name}:${tag} is named without a digest: npm run release -- renew-bases`)
  }
  const tool = await findImageTool()
  await tool.build({ ...source, folder: root, archive })
  return tool.name
}

const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()

function readSource(): ImageSource {
  const changed = git('status', '--porcelain')
  if (changed)
    throw new Error(`a release is that of a commit, and these files are in none: ${changed.split('\n').join(',')}`)
  const [commit = '', seconds] = git('log', '-1', '--format=%H %ct').split(' ')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { version, commit, createdAt: new Date(Number(seconds) * 1000) }
}

function readNotes(version: string): string {
  const [, section] = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(`\n## ${version}\n`)
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`)
  return `# Gatehouse ${version}\n${section.replace(/\n## .*/s, '').trimEnd()}\n`
}

/** The tarballs of the client and of the library for further services, built in a fixed folder: source maps have paths relative to it. */
async function buildPackages(createdAt: Date): Promise<[name: string, body: Buffer][]> {
  const scratch = join(root, '.gatehouse/packages')
  const { tarball } = await buildClient(join(scratch, 'client'))
  const built = [tarball, await buildUpstream(join(scratch, 'upstream'))]
  const packages = await Promise.all(built.map((file) => repack(file, createdAt)))
  rmSync(scratch, { recursive: true })
  return packages
}

/** npm keeps the modes of files, which the umask of a clone decides. */
async function repack(file: string, createdAt: Date): Promise<[name: string, body: Buffer]> {
  const files = await readTar(readFileSync(file))
  const entries = [...files].map(([name, one]) => ({ name, ...one }))
  return [basename(file), await packTarGz(entries, createdAt)]
}

/** The files of the commit below a path. A link to a folder is followed. */
function listTracked(path: string, prefix: string): TarEntry[] {
  const lines = git('ls-files', '-z', '--stage', path).split('\0').filter(Boolean)
  return lines.flatMap((line) => {
    const [, mode, file = ''] = /^(\d+) \S+ \d\t(.*)$/.exec(line) ?? []
    const name = join(prefix, file.slice(path.length))
    if (mode !== '120000') return [{ name, body: readFileSync(join(root, file)), isExecutable: mode === '100755' }]
    return listTracked(join(dirname(file), readlinkSync(join(root, file))), name)
  })
}

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** https://slsa.dev/spec/v1.0/provenance. Without times, and signed by who publishes it. */
function describeProvenance(
  folder: string,
  names: readonly string[],
  { version, commit }: ImageSource,
  tool: string | undefined,
): object {
  const images = readBaseImages(root).flatMap(({ name, tag, digest }) =>
    digest ? [{ name: `${name}:${tag}`, digest: { sha256: digest.slice('sha256:'.length) } }] : [],
  )
  const lock = sha256(join(root, 'package-lock.json'))
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: names.map((name) => ({ name, digest: { sha256: sha256(join(folder, name)) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:gatehouse:release:1',
        externalParameters: { version, withImages: tool !== undefined },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: lock } },
          { name: `node ${process.versions.node} on ${process.platform} ${process.arch}` },
          ...(tool === undefined ? [] : [{ name: tool }]),
          ...images,
        ],
      },
      runDetails: { builder: { id: 'urn:gatehouse:npm-run-release' } },
    },
  }
}
