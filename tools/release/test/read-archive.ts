import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { extract } from 'tar-stream'

type Index = {
  manifests: { digest: string; platform: { architecture: string }; annotations: Record<string, string> }[]
}
type Manifest = { config: { digest: string }; layers: { digest: string }[] }
type ImageConfig = { created: string; config: { User: string; Labels: Record<string, string> } }
type File = { name: string; uid: number | undefined; mtime: Date | undefined; body: Buffer }

/** The images of an OCI archive with the files of their layers, and the name of their list. */
export async function readArchive(archive: Buffer) {
  const blobs = new Map((await readFiles(archive)).map(({ name, body }) => [name.replace('./', ''), body]))
  const read = (digest: string): Buffer => blobs.get(`blobs/${digest.replace(':', '/')}`)!
  const readJson = <T>(digest: string): T => JSON.parse(read(digest).toString()) as T
  const [list] = (JSON.parse(blobs.get('index.json')!.toString()) as Index).manifests
  const { manifests } = readJson<Index>(list!.digest)
  const images = await Promise.all(
    manifests.map(async ({ digest, platform }) => {
      const { config, layers } = readJson<Manifest>(digest)
      const files = await Promise.all(layers.map((layer) => readFiles(gunzipSync(read(layer.digest)))))
      const listed = files.flat().map(({ name, uid, mtime }) => ({ name, uid, mtime }))
      return { platform, ...readJson<ImageConfig>(config.digest), files: listed }
    }),
  )
  return { name: list!.annotations['org.opencontainers.image.ref.name'], images }
}

async function readFiles(archive: Buffer): Promise<File[]> {
  const files: File[] = []
  const reader = extract()
  reader.end(archive)
  for await (const entry of reader) {
    const { name, type, uid, mtime } = entry.header
    const body = await buffer(entry)
    if (type === 'file') files.push({ name, uid, mtime, body })
  }
  return files
}
