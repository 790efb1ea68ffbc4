import { inOneLine } from '@gatehouse/contracts'
import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** A condition on the row `u` of users, and the values of its `?`. */
export type Condition = { sql: string; values: unknown[] }

/** `parts`: the keys that accounts with the text have in the index of names. */
export type NameSearch = { matches: Condition; parts: readonly string[] }

const names = 'fold_names(u.username, u.display_name)'
const beginsWord = '\n'

/** Finds a text in the names of accounts. Under three characters it begins a word. Contract: 5, Users. */
export async function searchNames(em: EntityManager, text: string): Promise<NameSearch> {
  const [folded] = await read<{ names: string }>(em, `select fold_names('', ?) as names`, [inOneLine(text)])
  const chars = [...folded!.names.slice(2)]
  const sought = chars.join('')
  if (chars.length < 3) {
    const pattern = sought.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return { matches: { sql: `starts_word(${names}, ?)`, values: [pattern] }, parts: [beginsWord + sought] }
  }
  const parts = new Set(chars.slice(2).map((_, at) => chars.slice(at, at + 3).join('')))
  return { matches: { sql: `strpos(${names}, ?) > 0`, values: [sought] }, parts: [...parts] }
}

/** Some thousand accounts, at any size of the table. */
const sampledBytes = 2 ** 19
/** Fewer accounts have two parts than one. A third one costs more to look up than it excludes. */
const partsAsked = 2
/** Of all accounts. The index makes a list of whoever has a part: then it takes longer than to look at all. */
const commonPart = 1 / 4

/** `found` of the sample, and of all accounts about `estimate`. `byIndex` is a condition that few fulfil, null where there is none. */
export type Sample = { found: number; estimate: number; byIndex: Condition | null }

/**
 * How many accounts have the text and fit the filter. The same pages of the table are read each time, so that a list of several
 * pages has one total.
 */
export async function sampleNames(em: EntityManager, filter: Condition, search: NameSearch): Promise<Sample> {
  const { matches, parts } = search
  const share = `least(1, ${sampledBytes}.0 / greatest(pg_relation_size('users'), 1))`
  const counts = ['has_text and fits', 'has_text', 'true', ...parts.map(() => 'strpos(names, ?) > 0')]
  const sql = `select ${share}::float8 as share,
      array[${counts.map((condition) => `count(*) filter (where ${condition})`).join()}]::int[] as counts
    from (select ${names} as names, ${matches.sql} as has_text, ${filter.sql} as fits
      from users u tablesample system (100 * ${share}) repeatable (0) offset 0) sample`
  const [sample] = await read<{ share: number; counts: number[] }>(em, sql, [
    ...parts,
    ...matches.values,
    ...filter.values,
  ])
  const [found = 0, withText = 0, all = 0, ...having] = sample!.counts
  const rarest = parts.toSorted((one, other) => having[parts.indexOf(one)]! - having[parts.indexOf(other)]!)
  const isCommon = Math.max(withText, Math.min(...having)) > all * commonPart
  const byIndex = isCommon ? null : hasParts(rarest.slice(0, partsAsked))
  return { found, estimate: Math.round(found / sample!.share), byIndex }
}

function hasParts(parts: readonly string[]): Condition {
  return { sql: `parts_of_names(${names}) @> array[${parts.map(() => '?').join()}]`, values: [...parts] }
}
