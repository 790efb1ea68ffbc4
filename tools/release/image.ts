import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FinalStage } from './dockerfile.ts'
import { imageFolder, platforms, writeImageFiles, type Platform } from './image-files.ts'
import { digestOf, type Descriptor, type Manifest, type Registry } from './registry.ts'
import { listEntries, packTar, type TarEntry } from './tar.ts'

const compress = promisify(gzip)
const layout = '{"imageLayoutVersion":"1.0.0"}'
const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}

type Blobs = Map<string, Buffer>
export type ImageSource = {
  /** What writes the files of the image for a platform. */
  writeFiles?: (platform: Platform) => Promise<void>
  version: string
  commit: string
  createdAt: Date
  log(line: string): void
}
type ImageConfig = {
  config?: { Env?: string[]; Labels?: Record<string, string> }
  history?: object[]
  rootfs: { type: 'layers'; diff_ids: string[] }
}

/** For each platform that its base has, as an OCI archive: layers of the base, and one for each COPY of the Dockerfile's last stage. */
export async function buildImages(registry: Registry, stage: FinalStage, release: ImageSource): Promise<Buffer> {
  const { writeFiles = writeImageFiles } = release
  const { name: baseName, tag, digest } = stage.base
  if (!digest)
    throw new Error(`deploy/Dockerfile names ${baseName}:${tag} without a digest: npm run release -- renew-bases`)
  const fetched = await registry.fetchManifest(baseName, digest)
  const { manifests = [] } = JSON.parse(fetched.body.toString()) as Manifest
  const blobs: Blobs = new Map()
  const images: Descriptor[] = []
  for (const name of platforms) {
    const [os = '', architecture = ''] = name.split('/')
    const base = manifests.find(({ platform }) => platform?.os === os && platform.architecture === architecture)
    if (!base) {
      release.log(`no image for ${name}: ${baseName}:${tag} has none`)
      continue
    }
    await writeFiles(name)
    const image = await buildImage(registry, { stage, base: base.digest, release }, blobs)
    images.push({ ...image, platform: { os, architecture } })
  }
  if (images.length === 0) throw new Error(`${baseName}@${digest} has none of ${platforms.join(', ')}`)
  const index = addBlob(blobs, types.index, { schemaVersion: 2, mediaType: types.index, manifests: images })
  const named = { ...index, annotations: { 'org.opencontainers.image.ref.name': release.version } }
  const top = { schemaVersion: 2, mediaType: types.index, manifests: [named] }
  const entries: TarEntry[] = [
    { name: 'oci-layout', body: Buffer.from(layout) },
    { name: 'index.json', body: Buffer.from(JSON.stringify(top)) },
    ...[...blobs].map(([name, body]) => ({ name: `blobs/${name.replace(':', '/')}`, body })),
  ]
  return await packTar(entries, release.createdAt)
}

type Parts = { stage: FinalStage; base: string; release: ImageSource }

async function buildImage(registry: Registry, { stage, base, release }: Parts, blobs: Blobs): Promise<Descriptor> {
  const { name } = stage.base
  const manifest = JSON.parse((await registry.fetchManifest(name, base)).body.toString()) as Required<Manifest>
  const config = JSON.parse((await registry.fetchBlob(name, manifest.config.digest)).body.toString()) as ImageConfig
  const layers: Descriptor[] = []
  for (const layer of manifest.layers) {
    const { body, digest } = await registry.fetchBlob(name, layer.digest)
    blobs.set(digest, body)
    layers.push({ mediaType: types.layer, digest, size: body.length })
  }
  const created = release.createdAt.toISOString()
  const [history, diffIds] = [[...(config.history ?? [])], [...config.rootfs.diff_ids]]
  for (const copy of stage.copies) {
    const tar = await packTar(listCopied(copy), release.createdAt)
    diffIds.push(`sha256:${createHash('sha256').update(tar).digest('hex')}`)
    history.push({ created, created_by: `COPY ${copy.from} ${copy.to}` })
    layers.push(addBlob(blobs, types.layer, await compress(tar)))
  }
  const { Env: inherited = [], Labels: inheritedLabels } = config.config ?? {}
  const Labels = {
    ...inheritedLabels,
    'org.opencontainers.image.title': 'gatehouse',
    'org.opencontainers.image.version': release.version,
    'org.opencontainers.image.revision': release.commit,
    'org.opencontainers.image.base.digest': base,
  }
  const own = { ...config, created, config: { ...stage.config, Env: [...inherited, ...stage.config.Env], Labels } }
  const ownConfig = addBlob(blobs, types.config, { ...own, history, rootfs: { type: 'layers', diff_ids: diffIds } })
  return addBlob(blobs, types.manifest, { schemaVersion: 2, mediaType: types.manifest, config: ownConfig, layers })
}

/** A folder's content goes below `to`, which belongs to the same owner where it is not the root. */
function listCopied({ from, to, owner }: FinalStage['copies'][number]): TarEntry[] {
  const folder = join(imageFolder, from)
  if (!existsSync(folder)) throw new Error(`deploy/Dockerfile copies ${from}, which the image's files do not have`)
  const prefix = to === '/' ? '' : `${to.slice(1)}/`
  const top = prefix ? [{ name: prefix, body: null }] : []
  return [...top, ...listEntries(folder, prefix)].map((entry) => ({ ...entry, owner }))
}

function addBlob(blobs: Blobs, mediaType: string, content: object | Buffer): Descriptor {
  const body = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content))
  const digest = digestOf(body)
  blobs.set(digest, body)
  return { mediaType, digest, size: body.length }
}
