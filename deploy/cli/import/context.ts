import type pg from 'pg'
import type { Random } from '@gatehouse/runtime'
import { insertInto } from './insert-rows.ts'
import type { ReportWriter } from './report.ts'
import type { Source, SourceRow } from './source.ts'

/** A file that a row names, to be copied before the commit. */
export type FileUse = { name: string; owner: { userId: string; column: 'avatar' | 'banner' } | null }

/** What the parts of an import share; each adds the ids that later parts refer to. */
export type ImportContext = {
  source: Source
  client: pg.ClientBase
  report: ReportWriter
  random: Pick<Random, 'bytes' | 'uuid'>
  now: number
  domain: string
  progress(line: string): void
  /** Live accounts and stubs, and tombstones. */
  liveUsers: Set<string>
  deletedUsers: Set<string>
  files: FileUse[]
}

export const isUser = ({ liveUsers, deletedUsers }: ImportContext, id: string | null): id is string =>
  id !== null && (liveUsers.has(id) || deletedUsers.has(id))

/** A live user, or null. */
export const userOrNull = (context: ImportContext, id: string | null): string | null =>
  isUser(context, id) ? id : null

type TableImport = {
  from: string
  to: string
  columns: readonly string[]
  /** Names a row in the report. */
  key?: (row: SourceRow) => unknown
  /** The row here; a text says why it is skipped, `double` that it is there already, `leftBehind` what has no place. */
  map(row: SourceRow): Record<string, unknown> | string | Double | LeftBehind
}
/** Rows of a kind that has no place here: counted, and none is told. */
export class LeftBehind {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
}
export type Double = typeof double
export const double = Symbol('double')

/** Undefined the first time, and then `double`. */
export function once(seen: Set<string>, key: string): typeof double | undefined {
  if (seen.has(key)) return double
  seen.add(key)
  return undefined
}

/** Carries one table over: every row is imported, a double, or skipped with its reason. */
export async function importTable(context: ImportContext, table: TableImport): Promise<void> {
  const { report, source, client, progress } = context
  const { from, to, columns, key = (row) => row['id'], map } = table
  const inserter = insertInto(client, to, columns)
  let read = 0
  for (const row of source.rows(from)) {
    read += 1
    if (read % 100_000 === 0) progress(`${to}: ${read} rows`)
    const mapped = map(row)
    if (!(mapped instanceof LeftBehind)) report.read(to)
    if (mapped === double) report.double(to)
    else if (mapped instanceof LeftBehind) report.leaveBehind(mapped.what, 1)
    else if (typeof mapped === 'string') report.skip(to, key(row), mapped)
    else {
      report.imported(to)
      await inserter.add(mapped)
    }
  }
  await inserter.flush()
}
