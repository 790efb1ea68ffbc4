import { readFileSync } from 'node:fs'

const read = (page: string) => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')

/**
 * Returns every row of the tables of the protocol, and of the importer's migrations, as `<section> <first cell>`. A
 * repeated first cell has the second cell too.
 */
export function listRows(): string[] {
  return [...rowsOf(read('docs/federation/protocol.md')), ...rowsOf(read('deploy/importer/README.md'), 'import')]
}

/** `first`: the section of tables before the first numbered heading. */
export function rowsOf(text: string, first = '0'): string[] {
  const rows: [short: string, long: string][] = []
  let section = first
  let lineOfTable = 0
  for (const line of text.split('\n')) {
    section = /^##+ ([\d.]*\d)/.exec(line)?.[1] ?? section
    lineOfTable = line.startsWith('|') ? lineOfTable + 1 : 0
    // The first two lines of a table are its head.
    if (lineOfTable <= 2) continue
    const [, subject = '', second = ''] = line.split(/(?<!\\)\|/).map(plain)
    rows.push([`${section} ${subject}`, `${section} ${subject}, ${second}`])
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

/** Returns the page's row that begins with this text. Throws if no row does, or more than one. */
export function findRow(beginning: string, rows: readonly string[] = listRows()): string {
  const matches = rows.includes(beginning) ? [beginning] : rows.filter((row) => row.startsWith(beginning))
  if (matches.length === 1 && matches[0] !== undefined) return matches[0]
  throw new Error(`${matches.length} rows of the pages begin with "${beginning}"`)
}
