import { createHash } from 'node:crypto'
import { lstat, link, copyFile, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { createClient, pendingMigrations } from '@gatehouse/database'
import { version } from '@gatehouse/service-kit'
import { createFileStore, openUploadStore, type OpenUpload, type UploadStore } from '@gatehouse/uploads'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { pack, type Pack } from 'tar-stream'
import { CommandFailure, storageFailure } from '../failure.ts'
import { finishFile, removeUnfinishedBeside, requireFilePath, unfinishedName } from '../unfinished.ts'
import { openUploadStaging, type UploadPlace } from '../upload-staging.ts'
import { formatVersion, listMigrations, listTables, memberNames, partBytes, quote, readSequences } from './format.ts'
import type { ArchiveHeader, ArchiveManifest, TableShape } from './format.ts'

type BackupOptions = UploadPlace & {
  /** Of a role that may read every table. */
  databaseUrl: string
  /** It has this name only when it is complete. */
  file: string
  now: number
  progress(line: string): void
}

/** All tables of one moment, and the files that their rows name. Throws CommandFailure, and leaves no archive then. */
export async function writeArchive(options: BackupOptions): Promise<ArchiveManifest> {
  const { file, databaseUrl } = options
  const partial = unfinishedName(file)
  const client = await createClient(databaseUrl, 'gatehouse-backup')
  try {
    await requireFilePath(file)
    await removeUnfinishedBeside(file)
    await client.connect()
    await requireMigrated(client)
    // It holds password hashes and the secrets of peers.
    const archive = await open(partial, 'w', 0o600)
    await archive.chmod(0o600)
    const tar = pack()
    const written = pipeline(tar, createGzip(), archive.createWriteStream({ flush: true }))
    const [filled, wrote] = await Promise.allSettled([fill(tar, client, options), written])
    if (wrote.status === 'rejected') throw wrote.reason as Error // the other one fails by it
    if (filled.status === 'rejected') throw filled.reason as Error
    await finishFile(partial, file)
    return filled.value
  } catch (error) {
    await rm(partial, { force: true })
    throw explain(error)
  } finally {
    await client.end()
  }
}

const undefinedTable = '42P01'

/** Its archive would name this release, which has another schema: none could restore it. Throws CommandFailure. */
async function requireMigrated(client: pg.Client): Promise<void> {
  const none = (error: unknown): string[] => {
    if ((error as { code?: string }).code === undefinedTable) return []
    throw error
  }
  if (pendingMigrations(await listMigrations(client).catch(none)).length === 0) return
  const remedy = 'back up with that release, or run `npm run migrate` first'
  throw new CommandFailure('refused', `the database has the schema of an earlier release: ${remedy}`)
}

type Checksums = Record<string, string>
type Target = { tar: Pack; checksums: Checksums }

async function fill(tar: Pack, client: pg.Client, options: BackupOptions): Promise<ArchiveManifest> {
  const checksums: Checksums = {}
  const target = { tar, checksums }
  try {
    await client.query('begin isolation level repeatable read, read only')
    await client.query('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0')
    const migrations = await listMigrations(client)
    const details = { version, createdAt: options.now, migrations }
    const header: ArchiveHeader = { format: 'gatehouse-backup', formatVersion, ...details }
    await addMember(target, memberNames.header, JSON.stringify(header))
    const names = await listFiles(client)
    // What an account deletes meanwhile stays in the archive.
    await using snapshot = await holdFiles(client, options, names)
    const tables: ArchiveManifest['tables'] = {}
    for (const table of await listTables(client)) {
      const rows = await addTable(target, client, table)
      tables[table.name] = { columns: table.columns, rows }
      options.progress(`${table.name}: ${rows} rows`)
    }
    const sequences = await readSequences(client)
    let files = 0
    for (const name of names) {
      const file = await snapshot.store.open(name)
      if (file) await addFile(target, file, memberNames.upload(name))
      files += Number(file !== null)
    }
    options.progress(`${files} files`)
    const manifest: ArchiveManifest = { tables, sequences, files, missingFiles: names.length - files, checksums }
    await addMember({ tar, checksums: {} }, memberNames.manifest, JSON.stringify(manifest))
    tar.finalize()
    return manifest
  } catch (error) {
    tar.destroy(error as Error)
    throw error
  }
}

/** Those that rows name. */
export async function listFiles(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select filename as name from uploads union select avatar from users where avatar is not null
     union select banner from users where banner is not null union select filename from message_attachments
     union select filename from dm_attachments`,
  )
  return rows.map(({ name }) => name).filter((name) => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name))
}

type HeldFiles = AsyncDisposable & { store: UploadStore }

/** By second names, which no deletion takes away, or copies. S3 has neither: what is deleted before its turn is missing. */
async function holdFiles(client: pg.Client, place: UploadPlace, names: readonly string[]): Promise<HeldFiles> {
  const { uploadDir, uploadStore } = place
  const store = await openUploadStore(uploadStore)
  const nothingHeld = { store, [Symbol.asyncDispose]: async () => undefined }
  if (!('folder' in uploadStore)) {
    await store.check()
    return nothingHeld
  }
  await using opening = new AsyncDisposableStack()
  const isFolder = (await lstat(uploadDir).catch(() => null))?.isDirectory()
  if (!isFolder && names.length === 0) return nothingHeld
  if (!isFolder) throw new CommandFailure('usage', `UPLOAD_DIR: ${uploadDir} is not a folder, but there are uploads`)
  const { folder } = opening.use(await openUploadStaging(client, place, 'backup'))
  for (const name of names) {
    const source = join(uploadDir, name)
    if (!(await lstat(source).catch(() => null))?.isFile()) continue
    await link(source, join(folder, name)).catch(async () => await copyFile(source, join(folder, name)))
  }
  const open = opening.move()
  return { store: createFileStore(folder), [Symbol.asyncDispose]: () => open.disposeAsync() }
}

async function addTable(target: Target, client: pg.Client, { name, columns }: TableShape): Promise<number> {
  const list = columns.map(quote).join(', ')
  const rows = client.query(copyTo(`copy (select ${list} from ${quote(name)}) to stdout`))
  let pending: Buffer[] = []
  let bytes = 0
  let part = 0
  const writePart = async () => {
    await addMember(target, memberNames.tablePart(name, part), Buffer.concat(pending))
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

async function addMember({ tar, checksums }: Target, name: string, content: string | Buffer): Promise<void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  checksums[name] = createHash('sha256').update(bytes).digest('hex')
  await pipeline([bytes], tar.entry({ name, size: bytes.length, mode: 0o600 }))
}

async function addFile({ tar, checksums }: Target, { size, content }: OpenUpload, name: string): Promise<void> {
  const hash = createHash('sha256')
  const entry = tar.entry({ name, size, mode: 0o600 })
  content.on('data', (chunk) => hash.update(chunk as Buffer))
  await pipeline(content, entry)
  checksums[name] = hash.digest('hex')
}

function explain(error: unknown): unknown {
  const failure = storageFailure(error, 'there is no archive')
  if (failure) return failure
  const { code, message } = error as { code?: string; message: string }
  if (code === 'ENOENT' || code === 'EACCES') return new CommandFailure('usage', message, error)
  const remedy = 'the role in DATABASE_URL cannot read every table: use the schema owner'
  return code === '42501' ? new CommandFailure('refused', remedy, error) : error
}
