import { constants, existsSync } from 'node:fs'
import { copyFile, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDiskFull } from '@gatehouse/runtime'
import { readInteger } from './values.ts'

/** `usage`: it cannot be read. `refused`: it is no database that this program imports. */
export class ImportFailure extends Error {
  override readonly name = 'ImportFailure'
  readonly kind: 'usage' | 'refused' | 'failed'
  constructor(kind: ImportFailure['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

/** A row as SQLite gives it: no declared type is enforced there. A column that this version lacks is undefined. */
export type SourceRow = Record<string, unknown>

export type Source = Awaited<ReturnType<typeof openSource>>

/** The greatest version of the other server that this program knows, as its migrations are numbered. */
const newestKnown = 1_791_414_124_908n
const requiredTables = ['__drizzle_migrations', 'users', 'instance_settings', 'spaces', 'dm_channels']
const requiredColumns = ['home_instance', 'replicated_instances']
/** Of a row and of a value, computed ones too. Nothing that was written there comes near. */
const mostBytes = 4 * 1024 * 1024

/**
 * Opens a private copy, in the folder `scratch`, of a database of the other chat server, with the changes that its write-ahead log still holds. Throws
 * ImportFailure with one line when it is none, broken, of a newer version (unless `isForced`), or cannot be copied.
 */
export async function openSource(file: string, { isForced, scratch }: { isForced: boolean; scratch: string }) {
  await requireHeader(file)
  await using opening = new AsyncDisposableStack()
  const copy = join(scratch, 'source.db')
  const copied = await copyDatabase(file, copy)
  const options = { readBigInts: true, enableForeignKeyConstraints: false, limits: { length: mostBytes } }
  const database = opening.adopt(new DatabaseSync(copy, options), (opened) => opened.close())
  const { tables, remarks } = inspect(file, database, isForced)
  const requestedTables = new Set(['__drizzle_migrations'])
  const opened = opening.move()
  return {
    /** What the report tells of the file itself. */
    remarks: [...copied, ...remarks],
    /** The rows of a table in the order of their insertion; none when the version has no such table. */
    rows: (table: string): Iterable<SourceRow> => {
      requestedTables.add(table)
      return tables.has(table) ? database.prepare(`select * from "${table}" ${tables.get(table)}`).iterate() : []
    },
    /** Tables of which no rows were asked: they have no place here. */
    unread: () => [...tables.keys()].filter((table) => !requestedTables.has(table) && !table.startsWith('sqlite_')),
    count: (table: string) =>
      tables.has(table) ? Number(database.prepare(`select count(*) as n from "${table}"`).get()?.['n']) : 0,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function requireHeader(file: string): Promise<void> {
  const cannotRead = (cause: unknown): never => {
    throw new ImportFailure('usage', `cannot read ${file}: ${(cause as Error).message}`, cause)
  }
  await using handle = await open(file).catch(cannotRead)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0).catch(cannotRead)
  if (bytesRead !== 16 || buffer.toString('latin1') !== 'SQLite format 3\0')
    throw new ImportFailure('refused', `${file} is not an SQLite database`)
}

async function copyDatabase(file: string, copy: string): Promise<string[]> {
  const log = `${file}-wal`
  try {
    await copyFile(file, copy, constants.COPYFILE_FICLONE)
    if (!existsSync(log) || (await stat(log)).size === 0) return []
    await copyFile(log, `${copy}-wal`, constants.COPYFILE_FICLONE)
    const remedy = 'stop the other server, or what it still writes is lost'
    return [`the write-ahead log beside the database was read too; ${remedy}`]
  } catch (cause) {
    if (isDiskFull(cause)) throw new ImportFailure('failed', 'the disk is full: nothing was changed', cause)
    throw new ImportFailure('usage', `cannot copy ${file} for reading: ${(cause as Error).message}`, cause)
  }
}

/** What the schema computes or checks is of no use here. Views and virtual tables are no tables: only what is stored is read. */
function inspect(file: string, database: DatabaseSync, isForced: boolean) {
  try {
    database.exec('pragma trusted_schema = off; pragma ignore_check_constraints = on')
    const verdict = database.prepare('pragma integrity_check(1)').get()?.['integrity_check']
    if (verdict !== 'ok') throw new Error('it fails the integrity check of SQLite')
    const listed = database.prepare('pragma main.table_list').all()
    const stored = listed.filter(({ type }) => type === 'table')
    const tables = new Map(stored.map(({ name, wr }) => [String(name), wr ? '' : 'order by rowid']))
    requireShape(file, database, tables)
    const remarks = requireKnownVersion(database, isForced)
    const violations = database.prepare('select count(*) as n from pragma_foreign_key_check').get()?.['n']
    if (violations) remarks.push(`${String(violations)} rows refer to rows that are missing`)
    return { tables, remarks }
  } catch (cause) {
    if (cause instanceof ImportFailure) throw cause
    throw new ImportFailure('refused', `${file} is broken: ${(cause as Error).message}`, cause)
  }
}

function requireShape(file: string, database: DatabaseSync, tables: ReadonlyMap<string, string>): void {
  const described = database.prepare('pragma table_info(users)').all()
  const columns = new Set(described.map(({ name }) => String(name)))
  const gaps = [
    ...requiredTables.filter((name) => !tables.has(name)),
    ...requiredColumns.filter((name) => !columns.has(name)).map((name) => `users.${name}`),
  ]
  if (gaps.length === 0) return
  const fault = 'is no database of that chat server, or too old a one'
  throw new ImportFailure('refused', `${file} ${fault}: it lacks ${gaps.join(', ')}`)
}

function requireKnownVersion(database: DatabaseSync, isForced: boolean): string[] {
  const row = database.prepare('select max(created_at) as version from __drizzle_migrations').get()
  const newest = readInteger(row?.['version'])
  if (newest === null || newest <= newestKnown) return []
  const fault = `the database is of a newer version of the other server (${newest}) than this program knows`
  if (!isForced) throw new ImportFailure('refused', `${fault}: --force imports the parts that it knows`)
  return [`${fault}; the parts that it knows are imported`]
}
