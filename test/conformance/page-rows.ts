import { readFileSync } from 'node:fs'

const files = { 1: 'federation/protocol.md', 2: 'federation/protocol-2.md' } as const

/** Every row of the tables of both pages, as `<page>: <section> <first cell>`, with the second cell where that repeats. */
export function listRows(): string[] {
  return ([1, 2] as const).flatMap((page) => {
    const text = readFileSync(new URL(`../../docs/${files[page]}`, import.meta.url), 'utf8')
    return rowsOf(text).map((row) => `${page}: ${row}`)
  })
}

export function rowsOf(text: string): string[] {
  const rows: [short: string, long: string][] = []
  let section = '0'
  let lineOfTable = 0
  for (const line of text.split('\n')) {
    section = /^##+ ([\d.]*\d)/.exec(line)?.[1] ?? section
    lineOfTable = line.startsWith('|') ? lineOfTable + 1 : 0
    // The first two lines of a table are its head.
    if (lineOfTable <= 2) continue
    const [, first = '', second = ''] = line.split(/(?<!\\)\|/).map(plain)
    rows.push([`${section} ${first}`, `${section} ${first}, ${second}`])
  }
  const isRepeated = (short: string) => rows.filter(([other]) => other === short).length > 1
  return rows.map(([short, long]) => (isRepeated(short) ? long : short))
}

function plain(cell: string): string {
  return cell
    .replaceAll(/[`*\\]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The page's row that is meant by how it begins. Throws where there is none, or more than one. */
export function findRow(beginning: string, rows: readonly string[] = listRows()): string {
  const found = rows.includes(beginning) ? [beginning] : rows.filter((row) => row.startsWith(beginning))
  if (found.length === 1 && found[0] !== undefined) return found[0]
  throw new Error(`${found.length} rows of the pages begin with "${beginning}"`)
}

/** Short enough for a table: the section and how the row begins. */
export function nameOfRow(beginning: string): string {
  return beginning.replace(/^(\d): /, 'page $1, ')
}
