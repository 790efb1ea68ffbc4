import { printable } from '../invocation.ts'

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
    const told = (lines.get(table) ?? 0) + 1
    lines.set(table, told)
    if (told <= linesPerTable) report.told.push(printable(`${table} ${String(id)}: ${what}`).slice(0, 300))
    else if (told === linesPerTable + 1) report.told.push(`${table}: further rows are not listed`)
  }
  return {
    report,
    tell,
    note: (line: string) => void report.told.push(printable(line).slice(0, 500)),
    read: (table: string) => void (countsOf(table).read += 1),
    imported: (table: string) => void (countsOf(table).imported += 1),
    double: (table: string) => void (countsOf(table).doubles += 1),
    skip: (table: string, id: unknown, why: string) => {
      countsOf(table).skipped += 1
      tell(table, id, `${why}, skipped`)
    },
    leaveBehind: (what: string, rows: number) => {
      if (rows > 0) report.leftBehind[what] = (report.leftBehind[what] ?? 0) + rows
    },
  }
}

export function formatReport({ tables, leftBehind, told }: ImportReport): string {
  const counted = Object.entries(tables).map(([name, { read, imported, skipped, doubles }]) => {
    const rest = [skipped > 0 && `${skipped} skipped`, doubles > 0 && `${doubles} doubles`].filter(Boolean).join(', ')
    return `  ${name.padEnd(24)} ${String(imported).padStart(9)} of ${read}${rest ? ` (${rest})` : ''}`
  })
  const left = Object.entries(leftBehind).map(([what, rows]) => `  ${what.padEnd(44)} ${rows}`)
  return [
    'imported',
    ...counted,
    ...(left.length > 0 ? ['', 'has no place here', ...left] : []),
    ...(told.length > 0 ? ['', 'to know', ...told.map((line) => `  ${line}`)] : []),
  ].join('\n')
}
