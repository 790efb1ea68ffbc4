import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { CommandFailure } from '../failure.ts'
import { archiveHeader, archiveManifest, memberNames, type ArchiveHeader, type ArchiveManifest } from './format.ts'

const greatestDocument = 64 * 1024 * 1024

/** Skips what `visit` leaves of a member. Rejects on a cut or damaged archive. */
export async function readMembers(
  file: string,
  visit: (name: string, content: Readable) => Promise<void>,
): Promise<void> {
  const tar = extract()
  const read = pipeline(createReadStream(file), createGunzip(), tar)
  read.catch(() => undefined) // it ends the loop below with the same error
  for await (const entry of tar) {
    await visit(entry.header.name, entry as unknown as Readable)
    entry.resume()
  }
  await read
}

/** Compares every member with its checksum before anything is used. Throws CommandFailure. */
export async function verifyArchive(file: string): Promise<{ header: ArchiveHeader; manifest: ArchiveManifest }> {
  const found: { header?: ArchiveHeader; manifest?: ArchiveManifest } = {}
  const checksums: Record<string, string> = {}
  try {
    await readMembers(file, async (name, content) => {
      if (found.manifest) throw new CommandFailure('refused', `${file} goes on after its end`)
      const isDocument = name === memberNames.header || name === memberNames.manifest
      if (!found.header && name !== memberNames.header)
        throw new CommandFailure('refused', `${file} is no backup of Gatehouse`)
      const { checksum, bytes } = await readContent(content, { isKept: isDocument })
      if (isDocument) {
        const document: unknown = JSON.parse(bytes.toString())
        if (name === memberNames.header) found.header = archiveHeader.parse(document)
        else found.manifest = archiveManifest.parse(document)
      }
      if (name !== memberNames.manifest) checksums[name] = checksum
    })
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'EACCES')
      throw new CommandFailure('usage', `cannot read ${file}: ${message}`, cause)
    throw new CommandFailure(
      'refused',
      `${file} is cut or damaged: ${found.header ? 'it ends too early' : 'it is no backup of Gatehouse'}`,
      cause,
    )
  }
  const { header, manifest } = found
  if (!header || !manifest) throw new CommandFailure('refused', `${file} is cut: its end is missing`)
  const names = new Set([...Object.keys(checksums), ...Object.keys(manifest.checksums)])
  for (const name of names) {
    if (checksums[name] !== manifest.checksums[name])
      throw new CommandFailure('refused', `${file} is damaged: ${name} differs from its checksum`)
  }
  return { header, manifest }
}

async function readContent(
  content: Readable,
  { isKept }: { isKept: boolean },
): Promise<{ checksum: string; bytes: Buffer }> {
  const hash = createHash('sha256')
  const kept: Buffer[] = []
  let size = 0
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    if (isKept && size > greatestDocument) throw new Error('a document of the archive is too large')
    if (isKept) kept.push(chunk)
  }
  return { checksum: hash.digest('hex'), bytes: Buffer.concat(kept) }
}
