import type { CpuTimes } from './cluster-cpu.ts'
import { median, type Run } from './rounds.ts'

/** One budget, measured beside its peer in the same run. */
export type Line = {
  what: string
  /** With its unit: `9.1 logins/s`. */
  measured: string
  /** What it stands beside: `bare bcrypt.compare 9.5/s`. */
  peer: string
  /** measured / peer, or null where the limit is absolute. */
  ratio: number | null
  /** Smallest to largest of the rounds: of their ratios where there is one, else of what was measured. */
  spread?: string
  /** As in the budget: `≥ 0.95`, `≤ 3 s`. */
  limit: string
  within: boolean
  /** Its words in the short table and the picture for newcomers. */
  headline?: string
  /** Microseconds of each process for one operation. */
  cpu?: CpuTimes
}

export type Benchmark = (run: Run) => Promise<Line[]>

type Bound = { atLeast: number } | { atMost: number }

type Comparison = Pick<Line, 'headline'> & {
  what: string
  /** One value for each round, in the same order as those of the peer. */
  ours: readonly number[]
  peer: { name: string; values: readonly number[] }
  /** Of all rounds together, where that tells more than the medians of the single ones. */
  whole?: { ours: number; peer: number }
  format: (value: number) => string
  /** Of ours as a share of the peer's; null where the line is for information. */
  bound: Bound | null
}

/**
 * A line whose limit is a share of the peer's: the ratio of both medians, or of what `whole` gives, with the ratios of the
 * single rounds as its spread.
 */
export function ratioLine({ what, ours, peer, whole, format, bound, headline }: Comparison): Line {
  const counted = whole ?? { ours: median(ours), peer: median(peer.values) }
  const ratio = counted.ours / counted.peer
  const ratios = ours.map((value, round) => value / peer.values[round]!)
  return {
    what,
    measured: format(counted.ours),
    peer: `${peer.name} ${format(counted.peer)}`,
    ratio,
    spread: spreadOf(ratios, (value) => value.toFixed(2)),
    limit: bound === null ? 'for information' : formatBound(bound, String),
    within: bound === null || isWithin(bound, ratio),
    ...(headline !== undefined && { headline }),
  }
}

type Measurement = Pick<Line, 'headline'> & {
  what: string
  values: readonly number[]
  /** What counts of the values; the median unless told. */
  judge?: (values: readonly number[]) => number
  peer: string
  format: (value: number) => string
  bound: Bound
}

/** A line whose limit is absolute. */
export function absoluteLine({ what, values, judge = median, peer, format, bound, headline }: Measurement): Line {
  const value = judge(values)
  return {
    what,
    measured: format(value),
    peer,
    ratio: null,
    spread: spreadOf(values, format),
    limit: formatBound(bound, format),
    within: isWithin(bound, value),
    ...(headline !== undefined && { headline }),
  }
}

function spreadOf(values: readonly number[], format: (value: number) => string): string {
  const [smallest, largest] = [format(Math.min(...values)), format(Math.max(...values))]
  return smallest === largest ? smallest : `${smallest} to ${largest}`
}

function formatBound(bound: Bound, format: (value: number) => string): string {
  return 'atLeast' in bound ? `≥ ${format(bound.atLeast)}` : `≤ ${format(bound.atMost)}`
}

function isWithin(bound: Bound, value: number): boolean {
  return 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost
}

const columns = ['what', 'measured', 'compared with', 'ratio', 'spread', 'limit', '']

/** The lines as a table that a terminal shows well. */
export function formatLines(lines: readonly Line[]): string {
  return formatTable([columns, ...lines.map(cellsOf)])
}

/** The lines as a table of bench/results. */
export function formatMarkdown(lines: readonly Line[]): string {
  return formatMarkdownTable([columns, ...lines.map(cellsOf)])
}

/** Rows, the first of which is the head, with their columns below each other. */
export function formatTable(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** Rows, the first of which is the head, in Markdown. */
export function formatMarkdownTable([head = [], ...rows]: readonly string[][]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

function cellsOf({ what, measured, peer, ratio, spread = '', limit, within }: Line): string[] {
  return [what, measured, peer, ratio === null ? '' : ratio.toFixed(2), spread, limit, within ? 'ok' : 'MISS']
}
