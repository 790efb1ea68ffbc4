import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { extract, pack } from 'tar-stream'

export type TarEntry = { name: string; body: Buffer | null; isExecutable?: boolean; owner?: number }

const compress = promisify(gzip)
const decompress = promisify(gunzip)

/** The same bytes for the same entries: sorted, of one time, with modes that no umask decides. A folder has no body. */
export async function packTar(entries: readonly TarEntry[], mtime: Date): Promise<Buffer> {
  const tar = pack()
  const written = buffer(tar)
  for (const { name, body, isExecutable, owner = 0 } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const mode = body === null || isExecutable ? 0o755 : 0o644
    tar.entry({ name, type: body ? 'file' : 'directory', mode, mtime, uid: owner, gid: owner }, body ?? '')
  }
  tar.finalize()
  return await written
}

/** Without a name or a time in its header. */
export const packTarGz = async (entries: readonly TarEntry[], mtime: Date): Promise<Buffer> =>
  await compress(await packTar(entries, mtime))

/** The files of a packed npm package or an OCI archive. */
export async function readTar(archive: Buffer) {
  const files = new Map<string, { body: Buffer; isExecutable: boolean }>()
  const reader = extract()
  reader.end(archive[0] === 0x1f ? await decompress(archive) : archive)
  for await (const entry of reader) {
    const { name, type, mode } = entry.header
    const body = await buffer(entry)
    if (type === 'file') files.set(name, { body, isExecutable: Boolean(mode & 0o100) })
  }
  return files
}

/** All files and folders below a folder, below `prefix`. Links are followed. */
export function listEntries(folder: string, prefix = ''): TarEntry[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name)
    const name = `${prefix}${relative(folder, path)}`
    const { mode } = statSync(path)
    if (entry.isDirectory()) return { name: `${name}/`, body: null }
    return { name, body: readFileSync(path), isExecutable: Boolean(mode & 0o100) }
  })
}
