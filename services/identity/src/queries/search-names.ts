import { read } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** A condition on the row `u` of users, and the values of its `?`. */
export type Condition = { sql: string; values: unknown[] }

/** `parts`: keys that accounts with the text have in the index of names. */
export type NameSearch = { matches: Condition; parts: readonly string[] }

const namesOfUsers = 'fold_names(u.username, u.display_name)'
const beginsWord = '\n'

/** More would cost more to count than they are rarer. */
const partsCounted = 12

/**
 * Finds a text of one line in the names of accounts, or in other folded texts that have such an index. Under three characters it
 * begins a word. Contract: 5, Users.
 */
export async function searchNames(em: EntityManager, text: string, names = namesOfUsers): Promise<NameSearch> {
  const [{ folded } = { folded: '' }] = await read<{ folded: string }>(em, `select fold_names('', ?) as folded`, [text])
  const sought = folded.slice(2)
  const chars = Array.from(sought)
  if (chars.length < 3) {
    const pattern = sought.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    return { matches: { sql: `starts_word(${names}, ?)`, values: [pattern] }, parts: [beginsWord + sought] }
  }
  const parts = Array.from(new Set(chars.slice(2).map((_, at) => chars.slice(at, at + 3).join(''))))
  const step = Math.ceil(parts.length / partsCounted)
  return {
    matches: { sql: `strpos(${names}, ?) > 0`, values: [sought] },
    parts: parts.filter((_, at) => at % step === 0),
  }
}

/** Some thousand accounts, at any size of the table. */
const sampledBytes = 2 ** 19
/** Fewer accounts have two parts than one. A third one costs more to look up than it excludes. */
const partsAsked = 2
/** Of all accounts. The index lists every account that has a part: above this share, that takes longer than reading all. */
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
    from (select ${namesOfUsers} as names, ${matches.sql} as has_text, ${filter.sql} as fits
      from users u tablesample system (100 * ${share}) repeatable (0) offset 0) sample`
  type Counted = { share: number; counts: number[] }
  const values = [...parts, ...matches.values, ...filter.values]
  const [{ share: shareRead, counts: counted } = { share: 1, counts: [] }] = await read<Counted>(em, sql, values)
  const [found = 0, withText = 0, all = 0, ...having] = counted
  const rarest = parts.map((part, at) => ({ part, count: having[at] ?? 0 })).toSorted((a, b) => a.count - b.count)
  const isCommon = Math.max(withText, Math.min(...having)) > all * commonPart
  const byIndex = isCommon
    ? null
    : hasParts(
        namesOfUsers,
        rarest.slice(0, partsAsked).map(({ part }) => part),
      )
  return { found, estimate: Math.round(found / shareRead), byIndex }
}

/** By the index of `names`. */
export function hasParts(names: string, parts: readonly string[]): Condition {
  return { sql: `parts_of_names(${names}) @> array[${parts.map(() => '?').join()}]`, values: [...parts] }
}
