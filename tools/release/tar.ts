import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { extract, pack } from 'tar-stream'

export type TarEntry = { name: string; body: Buffer; isExecutable: boolean }

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** The same bytes for the same entries: sorted, of one time, with modes that no umask decides, and no name or time in gzip's header. */
export async function packTarGz(entries: readonly TarEntry[], mtime: Date): Promise<Buffer> {
  const tar = pack()
  const written = buffer(tar)
  for (const { name, body, isExecutable } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    tar.entry({ name, mode: isExecutable ? 0o755 : 0o644, mtime, uid: 0, gid: 0 }, body)
  }
  tar.finalize()
  return await compress(await written)
}

/** The files of a packed npm package. */
export async function readTar(archive: Buffer) {
  const files = new Map<string, { body: Buffer; isExecutable: boolean }>()
  const reader = extract()
  reader.end(await decompress(archive))
  for await (const entry of reader) {
    const { name, type, mode } = entry.header
    const body = await buffer(entry)
    if (type === 'file') files.set(name, { body, isExecutable: Boolean(mode & 0o100) })
  }
  return files
}
