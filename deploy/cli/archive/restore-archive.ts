import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { compareVersions, version } from '@gatehouse/runtime'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { extract } from 'tar-stream'
import { cannotRead, CommandFailure } from '../failure.ts'
import { fillEmptyInstance } from '../fill-empty-instance.ts'
import type { UploadPlace } from '../upload-staging.ts'
import {
  archiveHeader,
  archiveManifest,
  formatVersion,
  listMigrations,
  listTables,
  memberNames,
  quote,
} from './format.ts'
import type { ArchiveHeader, ArchiveManifest } from './format.ts'
import { withoutIndexes } from './without-indexes.ts'

type RestoreOptions = UploadPlace & {
  file: string
  databaseUrl: string
  beforeCommit?: () => Promise<void>
  progress(line: string): void
}

/** Verifies the archive, then restores it as `fillEmptyInstance` does. docs/operate/back-up-and-restore.md. */
export async function restoreArchive(options: RestoreOptions): Promise<ArchiveManifest> {
  const { file, progress } = options
  progress('verifying the archive')
  const { header, manifest } = await verifyArchive(file)
  await fillEmptyInstance({
    ...options,
    kind: 'restore',
    check: (client) => requireSameSchema(client, header, manifest),
    fill: async (client, staging) => {
      await withoutIndexes(client, async () => {
        await restoreMembers(client, options, { manifest, staging })
        // References are checked by a plan, and the instance starts with plans too.
        await client.query(`analyze ${Object.keys(manifest.tables).map(quote).join(', ')}`)
      })
      for (const [name, { value, isCalled }] of Object.entries(manifest.sequences))
        await client.query('select setval($1::regclass, $2::bigint, $3)', [quote(name), value, isCalled])
      await client.query(`update users set status = 'offline' where status <> 'offline'`)
      await options.beforeCommit?.()
    },
  })
  return manifest
}

async function requireSameSchema(client: pg.Client, header: ArchiveHeader, manifest: ArchiveManifest): Promise<void> {
  const own = await listMigrations(client)
  const ownTables = new Map((await listTables(client)).map(({ name, columns }) => [name, new Set(columns)]))
  const isKnown = Object.entries(manifest.tables).every(([name, { columns }]) =>
    columns.every((column) => ownTables.get(name)?.has(column)),
  )
  if (isKnown && own.toSorted().join() === header.migrations.toSorted().join()) return
  const remedy = 'restore it with that version, then upgrade'
  const fault = `the archive was made by version ${header.version}, whose schema differs`
  throw new CommandFailure('refused', `${fault}: ${remedy}`)
}

type Target = { manifest: ArchiveManifest; staging: string }

/** The archive has the tables in an order in which their rows can be inserted. */
async function restoreMembers(client: pg.Client, { file, progress }: RestoreOptions, { manifest, staging }: Target) {
  await client.query(`truncate ${Object.keys(manifest.tables).map(quote).join(', ')} cascade`)
  let current: { table: string; sink: ReturnType<typeof copyFrom>; ended: Promise<void> } | undefined
  const begin = (table: string) => {
    const columns = manifest.tables[table]?.columns.map(quote).join(', ')
    const sink = client.query(copyFrom(`copy ${quote(table)} (${columns}) from stdin`))
    const ended = finished(sink)
    ended.catch(() => undefined) // it is awaited with each part, and at the end of the table
    return { table, sink, ended }
  }
  const finish = async () => {
    if (!current) return
    const { table, sink, ended } = current
    current = undefined
    sink.end()
    await ended
    progress(`${table}: ${sink.rowCount} rows`)
  }
  await readMembers(file, async (name, content) => {
    const [, table] = /^database\/([a-z_]+)\/\d+$/.exec(name) ?? []
    const [, upload] = /^uploads\/([A-Za-z0-9_-][A-Za-z0-9._-]{0,127})$/.exec(name) ?? []
    if (table !== current?.table) await finish()
    if (table !== undefined) {
      current ??= begin(table)
      await Promise.race([write(content, current.sink), current.ended])
    } else if (upload !== undefined) {
      await pipeline(content, createWriteStream(join(staging, upload), { mode: 0o644, flags: 'wx' }))
    }
  })
  await finish()
}

async function write(content: Readable, sink: ReturnType<typeof copyFrom>): Promise<void> {
  for await (const chunk of content as AsyncIterable<Buffer>) {
    if (!sink.write(chunk)) await once(sink, 'drain')
  }
}

const greatestDocument = 64 * 1024 * 1024

/** Skips what `visit` leaves of a member. Rejects on a cut or damaged archive. */
async function readMembers(file: string, visit: (name: string, content: Readable) => Promise<void>): Promise<void> {
  const tar = extract()
  const read = pipeline(createReadStream(file), createGunzip(), tar)
  read.catch(() => undefined) // it ends the loop below with the same error
  for await (const entry of tar) {
    await visit(entry.header.name, entry as unknown as Readable)
    entry.resume()
  }
  await read
}

/** Throws CommandFailure for an archive of a later release. */
function readHeader(file: string, document: unknown): ArchiveHeader {
  const header = archiveHeader.pick({ format: true, formatVersion: true, version: true }).parse(document)
  const isLater = compareVersions(header.version, version) > 0
  if (header.formatVersion === formatVersion && !isLater) return archiveHeader.parse(document)
  const fault = `${file} was made by version ${header.version} (format ${header.formatVersion})`
  throw new CommandFailure('refused', `${fault}, this is ${version} (format ${formatVersion}): restore it there`)
}

/** Compares every member with its checksum before anything is used. Throws CommandFailure. */
async function verifyArchive(file: string): Promise<{ header: ArchiveHeader; manifest: ArchiveManifest }> {
  const documents: { header?: ArchiveHeader; manifest?: ArchiveManifest } = {}
  const checksums: Record<string, string> = {}
  try {
    await readMembers(file, async (name, content) => {
      if (documents.manifest) throw new CommandFailure('refused', `${file} is damaged: it has extra data at the end`)
      const [isHeader, isManifest] = [name === memberNames.header, name === memberNames.manifest]
      if (!documents.header && !isHeader) throw new CommandFailure('refused', `${file} is not a Gatehouse backup`)
      const { checksum, bytes } = await readContent(content, { isKept: isHeader || isManifest })
      if (isHeader) documents.header = readHeader(file, JSON.parse(bytes.toString()))
      if (isManifest) documents.manifest = archiveManifest.parse(JSON.parse(bytes.toString()))
      else checksums[name] = checksum
    })
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause
    const { code = '' } = cause as NodeJS.ErrnoException
    if (['ENOENT', 'EACCES'].includes(code)) cannotRead(file)(cause)
    const fault = documents.header ? 'it ends early' : 'it is not a Gatehouse backup'
    throw new CommandFailure('refused', `${file} is damaged: ${fault}`, cause)
  }
  const { header, manifest } = documents
  if (!header || !manifest) throw new CommandFailure('refused', `${file} is damaged: its end is missing`)
  const names = new Set([...Object.keys(checksums), ...Object.keys(manifest.checksums)])
  for (const name of names) {
    if (checksums[name] !== manifest.checksums[name])
      throw new CommandFailure('refused', `${file} is damaged: ${name} differs from its checksum`)
  }
  return { header, manifest }
}

async function readContent(content: Readable, { isKept }: { isKept: boolean }) {
  const hash = createHash('sha256')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    if (isKept && size > greatestDocument) throw new Error('a document of the archive is too large')
    if (isKept) chunks.push(chunk)
  }
  return { checksum: hash.digest('hex'), bytes: Buffer.concat(chunks) }
}
