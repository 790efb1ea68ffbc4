import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, link, copyFile, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { createClient } from '@gatehouse/database'
import { version } from '@gatehouse/service-kit'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { pack, type Pack } from 'tar-stream'
import { CommandFailure, isDiskFull } from '../failure.ts'
import { removeUnfinishedBeside, requireFilePath, unfinishedName } from '../unfinished.ts'
import { openUploadStaging } from '../upload-staging.ts'
import {
  formatVersion,
  memberNames,
  partBytes,
  type ArchiveHeader,
  type ArchiveManifest,
  listMigrations,
  listTables,
  quote,
  readSequences,
  type TableShape,
} from './format.ts'

export type BackupOptions = {
  /** Of a role that may read every table. */
  databaseUrl: string
  uploadDir: string
  /** It has this name only when it is complete. */
  file: string
  now: number
  progress(line: string): void
}

/**
 * All tables of one moment, and the files that their rows name. Throws CommandFailure, and leaves no archive then.
 * docs/operators.md, "Backup and restore".
 */
export async function writeArchive(options: BackupOptions): Promise<ArchiveManifest> {
  const { file, databaseUrl } = options
  const partial = unfinishedName(file)
  const client = await createClient(databaseUrl, 'gatehouse-backup')
  try {
    await requireFilePath(file)
    await removeUnfinishedBeside(file)
    await client.connect()
    // It holds password hashes and the secrets of peers.
    const archive = await open(partial, 'w', 0o600)
    await archive.chmod(0o600)
    const tar = pack()
    const written = pipeline(tar, createGzip(), archive.createWriteStream({ flush: true }))
    const [filled, wrote] = await Promise.allSettled([fill(tar, client, options), written])
    if (wrote.status === 'rejected') throw wrote.reason as Error // the other one fails by it
    if (filled.status === 'rejected') throw filled.reason as Error
    const manifest = filled.value
    await rename(partial, file)
    return manifest
  } catch (error) {
    await rm(partial, { force: true })
    throw explain(error)
  } finally {
    await client.end()
  }
}

async function fill(tar: Pack, client: pg.Client, options: BackupOptions): Promise<ArchiveManifest> {
  const checksums: Record<string, string> = {}
  try {
    await client.query('begin isolation level repeatable read, read only')
    await client.query('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
    const migrations = await listMigrations(client)
    const header: ArchiveHeader = {
      ...{ format: 'gatehouse-backup', formatVersion },
      ...{ version, createdAt: options.now, migrations },
    }
    await addMember(tar, memberNames.header, JSON.stringify(header), checksums)
    const names = await listFiles(client)
    // What an account deletes meanwhile stays in the archive.
    await using held = await holdFiles(client, options.uploadDir, names)
    const tables: ArchiveManifest['tables'] = {}
    for (const table of await listTables(client)) {
      const rows = await addTable(tar, client, table, checksums)
      tables[table.name] = { columns: table.columns, rows }
      options.progress(`${table.name}: ${rows} rows`)
    }
    const sequences = await readSequences(client)
    for (const name of held.names) await addFile(tar, join(held.folder, name), memberNames.upload(name), checksums)
    options.progress(`${held.names.length} files`)
    const files = { files: held.names.length, missingFiles: names.length - held.names.length }
    const manifest: ArchiveManifest = { tables, sequences, ...files, checksums }
    await addMember(tar, memberNames.manifest, JSON.stringify(manifest), {})
    tar.finalize()
    return manifest
  } catch (error) {
    tar.destroy(error as Error)
    throw error
  }
}

async function listFiles(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select filename as name from uploads union select avatar from users where avatar is not null
     union select banner from users where banner is not null union select filename from message_attachments
     union select filename from dm_attachments`,
  )
  return rows.map(({ name }) => name).filter((name) => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name))
}

/** Second names, which no deletion takes away. Copies where links are not possible. */
async function holdFiles(client: pg.Client, uploadDir: string, names: readonly string[]) {
  await using opening = new AsyncDisposableStack()
  const found = await lstat(uploadDir).catch(() => null)
  if (!found?.isDirectory()) {
    if (names.length > 0)
      throw new CommandFailure('usage', `UPLOAD_DIR: ${uploadDir} is no folder, and rows name files`)
    return { folder: uploadDir, names: [] as string[], [Symbol.asyncDispose]: async () => undefined }
  }
  const { folder } = opening.use(await openUploadStaging(client, uploadDir, 'backup'))
  const held: string[] = []
  for (const name of names) {
    const source = join(uploadDir, name)
    if (!(await lstat(source).catch(() => null))?.isFile()) continue
    await link(source, join(folder, name)).catch(async () => await copyFile(source, join(folder, name)))
    held.push(name)
  }
  const open = opening.move()
  return { folder, names: held, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function addTable(
  tar: Pack,
  client: pg.Client,
  { name, columns }: TableShape,
  checksums: Record<string, string>,
): Promise<number> {
  const list = columns.map(quote).join(', ')
  const rows = client.query(copyTo(`copy (select ${list} from ${quote(name)}) to stdout`))
  let pending: Buffer[] = []
  let bytes = 0
  let part = 0
  const writePart = async () => {
    await addMember(tar, memberNames.tablePart(name, part), Buffer.concat(pending), checksums)
    part += 1
    pending = []
    bytes = 0
  }
  for await (const chunk of rows as AsyncIterable<Buffer>) {
    pending.push(chunk)
    bytes += chunk.length
    if (bytes >= partBytes) await writePart()
  }
  if (bytes > 0) await writePart()
  return rows.rowCount
}

async function addMember(
  tar: Pack,
  name: string,
  content: string | Buffer,
  checksums: Record<string, string>,
): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  checksums[name] = createHash('sha256').update(bytes).digest('hex')
  const entry = tar.entry({ name, size: bytes.length, mode: 0o600 })
  await pipeline([bytes], entry)
}

async function addFile(tar: Pack, path: string, name: string, checksums: Record<string, string>): Promise<void> {
  const { size } = await lstat(path)
  const hash = createHash('sha256')
  const entry = tar.entry({ name, size, mode: 0o600 })
  const source = createReadStream(path)
  source.on('data', (chunk) => hash.update(chunk))
  await pipeline(source, entry)
  checksums[name] = hash.digest('hex')
}

function explain(error: unknown): unknown {
  const { code, message } = error as { code?: string; message: string }
  if (error instanceof CommandFailure) return error
  if (isDiskFull(error)) return new CommandFailure('failed', 'the disk is full: there is no archive', error)
  if (code === 'ENOENT' || code === 'EACCES') return new CommandFailure('usage', message, error)
  if (code === 'ECONNREFUSED') return new CommandFailure('unreachable', `PostgreSQL does not answer: ${message}`, error)
  if (code === '42501')
    return new CommandFailure(
      'refused',
      'the role of DATABASE_URL may not read every table: use the one that owns the schema',
      error,
    )
  return error
}
