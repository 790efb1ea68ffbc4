import type { EncryptionKey } from '@gatehouse/auth'
import { printable, type Random } from '@gatehouse/runtime'
import type pg from 'pg'
import { IdSet } from './id-set.ts'
import type { Source, SourceRow } from './source.ts'
import { readId, readText } from './values.ts'

export type FileUse = { name: string; owner: { userId: string; column: 'avatar' | 'banner' } | null }

export type ImportContext = {
  source: Source
  client: pg.ClientBase
  report: ReturnType<typeof createReport>
  random: Pick<Random, 'bytes' | 'uuid'>
  now: number
  domain: string
  encryptionKey: EncryptionKey
  progress(line: string): void
  /** Accounts, stubs and tombstones. */
  users: IdSet
  /** Those that are not deleted. */
  liveUsers: IdSet
  files: FileUse[]
}

export type Ids = { has(id: string): boolean }

/** An id of those that were imported, else null. */
export function importedId(ids: Ids, value: unknown): string | null {
  const id = readId(value)
  return id !== null && ids.has(id) ? id : null
}

/** Gives the row here, or why it is skipped; null for one that was left behind. */
type MapRow = (row: SourceRow) => Record<string, unknown> | string | null

type TableImport = {
  /** The table here, by default of the same name. */
  to?: string
  /** Columns here in which no two rows are the same. */
  unique?: readonly (readonly string[])[]
  map: MapRow
}

/** Gives the first unique columns of the rows. */
export async function importTable(context: ImportContext, from: string, table: TableImport | MapRow): Promise<Ids> {
  const { report, source, client, progress } = context
  const definition: TableImport = typeof table === 'function' ? { map: table } : table
  const { to = from, unique = [['id']], map } = definition
  const inserter = insertInto(client, to)
  const uniqueKeys = unique.map((columns) => (columns.join() === 'id' ? new IdSet() : new Set<string>()))
  let read = 0
  for (const row of source.rows(from)) {
    read += 1
    if (read % 100_000 === 0) progress(`${to}: ${read} rows`)
    const mapped = map(row)
    if (mapped === null) continue
    report.count(to, 'read')
    if (typeof mapped === 'string') {
      report.skip(to, nameOf(row), mapped)
      continue
    }
    const keys = unique.map((columns) => columns.map((column) => mapped[column]).join(' '))
    if (keys.some((key, index) => uniqueKeys[index]?.has(key))) {
      report.count(to, 'doubles')
      continue
    }
    keys.forEach((key, index) => uniqueKeys[index]?.add(key))
    report.count(to, 'imported')
    await inserter.add(mapped)
  }
  await inserter.flush()
  return uniqueKeys[0] ?? new Set()
}

function nameOf(row: SourceRow): string {
  const ids = Object.keys(row).filter((column) => column.endsWith('_id'))
  return readText(row['origin'] ?? row['id']) ?? ids.map((column) => readText(row[column])).join('/')
}

const batchRows = 200
const batchCharacters = 8 * 1024 * 1024

/** In batches. The names of columns are those of this program. */
export function insertInto(client: pg.ClientBase, table: string) {
  let rows: string[] = []
  let [list, characters] = ['', 0]
  async function flush(): Promise<void> {
    const sql = `insert into ${table} (${list}) select ${list} from json_populate_recordset(null::${table}, $1::json)`
    if (rows.length > 0) await client.query(sql, [`[${rows.join()}]`])
    rows = []
    characters = 0
  }
  return {
    flush,
    add: async (row: object) => {
      list ||= Object.keys(row).join(', ')
      const text = JSON.stringify(row)
      characters += text.length
      if (rows.push(text) >= batchRows || characters >= batchCharacters) await flush()
    },
  }
}

export type ImportReport = {
  tables: Record<string, { read: number; imported: number; skipped: number; doubles: number }>
  leftBehind: Record<string, number>
  told: string[]
}

/** Of single rows. The counts stay exact. */
const linesPerTable = 50

/** No secret, hash or token may be told. */
export function createReport() {
  const report: ImportReport = { tables: {}, leftBehind: {}, told: [] }
  const lines = new Map<string, number>()
  const countsOf = (table: string) => (report.tables[table] ??= { read: 0, imported: 0, skipped: 0, doubles: 0 })
  function tell(table: string, id: unknown, what: string): void {
    const lineCount = (lines.get(table) ?? 0) + 1
    lines.set(table, lineCount)
    if (lineCount <= linesPerTable) report.told.push(printable(`${table} ${String(id)}: ${what}`).slice(0, 300))
    else if (lineCount === linesPerTable + 1) report.told.push(`${table}: further rows are not listed`)
  }
  return {
    report,
    tell,
    note: (line: string) => void report.told.push(printable(line).slice(0, 500)),
    count: (table: string, what: 'read' | 'imported' | 'doubles') => void (countsOf(table)[what] += 1),
    skip: (table: string, id: unknown, why: string) => {
      countsOf(table).skipped += 1
      tell(table, id, `${why}, skipped`)
    },
    /** Only counted, because they have no place here. */
    leaveBehind: (what: string, rows = 1): null => {
      if (rows > 0) report.leftBehind[what] = (report.leftBehind[what] ?? 0) + rows
      return null
    },
  }
}

export function formatReport({ tables, leftBehind, told }: ImportReport): string {
  const counted = Object.entries(tables).map(([name, { read, imported, skipped, doubles }]) => {
    const rest = [skipped > 0 && `${skipped} skipped`, doubles > 0 && `${doubles} duplicates`]
      .filter(Boolean)
      .join(', ')
    return `  ${name.padEnd(24)} ${String(imported).padStart(9)} of ${read}${rest ? ` (${rest})` : ''}`
  })
  const leftovers = Object.entries(leftBehind).map(([what, rows]) => `  ${what.padEnd(44)} ${rows}`)
  return [
    'imported',
    ...counted,
    ...(leftovers.length > 0 ? ['', 'not imported', ...leftovers] : []),
    ...(told.length > 0 ? ['', 'notes', ...told.map((line) => `  ${line}`)] : []),
  ].join('\n')
}
