/** One budget, measured beside its peer in the same run. */
export type Line = {
  what: string
  /** With its unit: `9.1 logins/s`. */
  measured: string
  /** What it stands beside: `bare bcrypt.compare 9.5/s`. */
  peer: string
  /** measured / peer, or null where the limit is absolute. */
  ratio: number | null
  /** As in the budget: `≥ 0.95`, `≤ 3 s`. */
  limit: string
  within: boolean
}

export type Benchmark = () => Promise<Line[]>

/** The lines as a table that a terminal shows well. */
export function formatLines(lines: readonly Line[]): string {
  const rows = lines.map((line) => [
    line.within ? 'ok  ' : 'MISS',
    line.what,
    line.measured,
    line.peer,
    line.ratio === null ? '' : line.ratio.toFixed(2),
    line.limit,
  ])
  const table = [['', 'what', 'measured', 'beside', 'ratio', 'limit'], ...rows]
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)))
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
