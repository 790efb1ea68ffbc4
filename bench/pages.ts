import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import type { CpuTimes } from './cluster-cpu.ts'
import { drawPicture } from './picture.ts'
import { formatMarkdown, formatMarkdownTable, type Line } from './report.ts'
import { operationsOfFleet, planPeople, processesOf } from './people.ts'

const root = join(import.meta.dirname, '..')
const page = join(root, 'docs/explain/performance-and-scaling.md')

type Measured = {
  lines: readonly Line[]
  machine: string
  /** `2026-11-25` */
  day: string
}

/**
 * Adds the run to bench/results/<day>.md, and fills the generated parts of docs/explain/performance-and-scaling.md and its
 * picture. A part stays as it is when the run has no lines of its kind.
 */
export async function writePages({ lines, machine, day }: Measured): Promise<void> {
  const { costs, others } = splitLines(lines)
  await addRun(join(root, `bench/results/${day}.md`), { lines, machine, day })
  if (others.some(({ headline }) => headline !== undefined)) {
    await writeFile(join(root, 'docs/images/performance.svg'), drawPicture(others))
    await fill('summary', formatSummary(others))
  }
  if (costs.length > 0) await fill('people', planPeople(costs))
}

/** Adds a run to the end of the file. Creates the file when it is missing. */
export async function addRun(path: string, { lines, machine, day }: Measured): Promise<void> {
  const { costs, others } = splitLines(lines)
  const before = existsSync(path) ? await readFile(path, 'utf8') : `# Benchmark results of ${day}`
  const parts = [before, `## On ${machine}`]
  if (others.length > 0) parts.push(formatMarkdown(others))
  if (costs.length > 0) parts.push('### CPU costs of an operation', formatCosts(costs))
  if (costs.length > 0) parts.push('### Operations per second and core', formatReplicas(costs))
  await writeFormatted(path, parts.join('\n\n'))
}

const splitLines = (lines: readonly Line[]) => ({
  costs: lines.filter(({ cpu }) => cpu !== undefined),
  others: lines.filter(({ cpu }) => cpu === undefined),
})

/** The lines with a headline, for newcomers. */
export function formatSummary(lines: readonly Line[]): string {
  const rows = lines.flatMap(({ headline, measured, peer, ratio }) =>
    headline === undefined ? [] : [[headline, measured, peer, ratio === null ? '' : `${ratio.toFixed(2)} ×`]],
  )
  return formatMarkdownTable([['', 'Gatehouse', 'compared with', 'ratio'], ...rows])
}

/** A row for each operation, a column for each process, in microseconds. */
export function formatCosts(lines: readonly Line[]): string {
  const names = processesOf(lines)
  const rows = lines.map(({ what, cpu, spread = '' }) => [what, ...names.map((name) => inMicros(cpu!, name)), spread])
  return formatMarkdownTable([['µs of CPU, all replicas together', ...names, 'rate in the run'], ...rows])
}

/** How often a second one whole core of each process can do it, by the costs of the last run: what a replica adds, and where a server ends. */
export function formatReplicas(lines: readonly Line[]): string {
  const latest = lines.slice(-operationsOfFleet)
  const names = processesOf(latest)
  const rows = latest.map(({ what, cpu }) => [what, ...names.map((name) => perCore(cpu![name] ?? 0))])
  return formatMarkdownTable([['per second and core of', ...names], ...rows])
}

/** Below a tick of the kernel's clock for some hundred operations nothing was measured. */
const perCore = (micros: number): string => (micros < 5 ? '' : Math.round(1e6 / micros).toLocaleString('en'))

const inMicros = (cpu: CpuTimes, name: string): string => (cpu[name] ?? 0).toFixed(0)

/** Throws when the page has no such markers. */
export function replacePart(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- /bench: ${name} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the page has no part between ${begin} and ${end}`)
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`
}

async function fill(name: string, text: string): Promise<void> {
  await writeFormatted(page, replacePart(await readFile(page, 'utf8'), name, text))
}

async function writeFormatted(path: string, text: string): Promise<void> {
  await writeFile(path, await format(text, { ...(await resolveConfig(path)), filepath: path }))
}
