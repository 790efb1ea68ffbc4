import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import type { CpuTimes } from './cluster-cpu.ts'
import { drawPicture } from './picture.ts'
import { formatMarkdown, formatMarkdownTable, type Line } from './report.ts'
import { operationsOfFleet, planPeople, processesOf } from './people.ts'

const docs = join(import.meta.dirname, '../docs')

/** Puts the results into docs/explain/performance-and-scaling.md and docs/scale.md between their markers, and the picture beside them. Without lines of its kind a part stays as it is. */
export async function writePages(lines: readonly Line[], machine: string): Promise<void> {
  const costs = lines.filter(({ cpu }) => cpu !== undefined)
  const others = lines.filter(({ cpu }) => cpu === undefined)
  if (others.some(({ headline }) => headline !== undefined)) {
    await writeFile(join(docs, 'images/performance.svg'), drawPicture(others))
    await fill('explain/performance-and-scaling.md', 'summary', formatSummary(others))
  }
  if (others.length > 0) await fill('explain/performance-and-scaling.md', 'results', `On ${machine}.\n\n${formatMarkdown(others)}`)
  if (costs.length > 0) await fill('scale.md', 'costs', `On ${machine}.\n\n${formatCosts(costs)}`)
  if (costs.length > 0) await fill('scale.md', 'replicas', formatReplicas(costs))
  if (costs.length > 0) await fill('scale.md', 'people', planPeople(costs))
}

/** The lines with a headline, for newcomers. */
export function formatSummary(lines: readonly Line[]): string {
  const rows = lines.flatMap(({ headline, measured, peer, ratio }) =>
    headline === undefined ? [] : [[headline, measured, peer, ratio === null ? '' : `${ratio.toFixed(2)} ×`]],
  )
  return formatMarkdownTable([['', 'Gatehouse', 'beside', 'ours as a share of it'], ...rows])
}

/** A row for each operation, a column for each process, in microseconds. */
export function formatCosts(lines: readonly Line[]): string {
  const names = processesOf(lines)
  const rows = lines.map(({ what, cpu, spread = '' }) => [what, ...names.map((name) => inMicros(cpu!, name)), spread])
  return formatMarkdownTable([['µs of CPU for one', ...names, 'rate in the run'], ...rows])
}

/** How often a second one whole core of each process can do it, by the costs of the last run: what a replica adds, and where a server ends. */
export function formatReplicas(lines: readonly Line[]): string {
  const latest = lines.slice(-operationsOfFleet)
  const names = processesOf(latest)
  const rows = latest.map(({ what, cpu }) => [what, ...names.map((name) => perCore(cpu![name] ?? 0))])
  return formatMarkdownTable([['a second, for each core of', ...names], ...rows])
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

async function fill(file: string, name: string, text: string): Promise<void> {
  const path = join(docs, file)
  const page = replacePart(await readFile(path, 'utf8'), name, text)
  await writeFile(path, await format(page, { ...(await resolveConfig(path)), filepath: path }))
}
