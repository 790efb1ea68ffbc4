import type { SoakRun } from './run-soak.ts'
import type { Judged } from './series.ts'

/** A slope or a loss: the run fails. */
export const isSound = ({ judged, ledger }: Pick<SoakRun, 'judged' | 'ledger'>): boolean =>
  ledger.violations.length === 0 && judged.every(({ verdict }) => verdict !== 'rises')

const method = `Each series is judged after the warm-up by the slope of its line of least squares, over hours or, where it grows with the accounts by design, over the accounts that ever registered. The standard error counts only independent samples (neighbouring residuals are correlated). The margin (±) is three of them, or more where few samples are independent (Student's t). A series rises if its slope is above its bound by more than the margin, and is flat if it is below by the margin; else it is undecided, and a longer run tells. "Found from" is the least slope that this run would have called rising. "Too short": what it holds is kept for longer than half of the judged time.`

/** Markdown: the verdict, what rises, every series that moved, and what people did. */
export function formatRun(run: SoakRun): string {
  const { seed, hours, warmUpHours, cpuShare, samples, judged, ledger } = run
  const moving = judged.filter(({ isConstant }) => !isConstant)
  const by = (verdict: Judged['verdict']) => judged.filter((one) => one.verdict === verdict)
  const verdicts = (['flat', 'rises', 'undecided', 'too short'] as const).map((each) => `${by(each).length} ${each}`)
  return [
    `# Soak of ${format(hours)} h`,
    '',
    `${isSound(run) ? (by('flat').length > 0 ? 'Nothing rises, nothing is lost' : 'Nothing is lost, and too little was measured to tell what rises') : 'FAILED'}: ${verdicts.join(', ')}; ${ledger.violations.length} violations. ` +
      `Seed ${seed}, ${samples.length} samples, the first ${format(warmUpHours)} h are the warm-up; ${format(100 * cpuShare)} % of a core.`,
    '',
    ...ledger.violations.map((each) => `- ${each}`),
    ...by('rises').map(
      ({ name, slope, most, per }) => `- rises: ${name}, ${format(slope)} per ${per}, bound ${format(most)}`,
    ),
    '',
    ...table(['series', 'from', 'to', 'slope', 'per', '±', 'bound', 'found from', 'verdict'], moving.map(rowOf)),
    '',
    `${judged.length - moving.length} series never changed. ${method}`,
    '',
    ...table(
      ['what was done', 'times'],
      ledger.counts().map(([what, times]) => [what, String(times)]),
    ),
  ].join('\n')
}

const rowOf = ({ name, first, last, slope, per, margin, most, leastFound, verdict }: Judged): string[] => [
  name,
  ...[first, last, slope].map(format),
  per,
  ...[margin, most, leastFound].map(format),
  verdict,
]

const format = (value: number): string => {
  if (!Number.isFinite(value)) return '–'
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}

function table(head: string[], rows: string[][]): string[] {
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)))
  const line = (cells: string[]) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}
