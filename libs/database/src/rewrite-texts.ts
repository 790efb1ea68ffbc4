import type { EntityManager, MikroORM } from '@mikro-orm/postgresql'
import { changeRows, read } from './rows.ts'
import { transaction } from './transaction.ts'

type Row = Record<string, string | null>

/** `key`: the columns of the primary key. */
export type StoredTexts = { table: string; key: readonly string[]; columns: readonly string[] }

/** `rewrite` gets each text that does not begin with the prefix. Null leaves it. */
export type Rewriting = { prefix: string; rewrite: (text: string, row: Row) => string | null }

const rowsAtOnce = 500

/** Row locks make it safe beside other writers and callers. Counts rows, those that were left in part as `incomplete`. */
export async function rewriteTexts(orm: MikroORM, texts: StoredTexts, rewriting: Rewriting) {
  const total = { changed: 0, incomplete: 0 }
  let after: Row | undefined
  do {
    const batch = await transaction(orm, (em) => rewriteBatch(em, { ...texts, ...rewriting, after }))
    total.changed += batch.changed
    total.incomplete += batch.incomplete
    after = batch.next
  } while (after)
  return total
}

type Batch = StoredTexts & Rewriting & { after: Row | undefined }

async function rewriteBatch(em: EntityManager, { table, key, columns, prefix, rewrite, after }: Batch) {
  const isOld = columns.map((name) => `${name} <> '' and not starts_with(${name}, ?)`).join(' or ')
  const keys = key.join(', ')
  const rows = await read<Row>(
    em,
    `select ${[...key, ...columns].map((name) => `${name}::text as ${name}`).join(', ')} from ${table}
     where (${isOld})${after ? ` and (${keys}) > (${key.map(() => '?').join(', ')})` : ''}
     order by ${key.map((name) => `${table}.${name}`).join(', ')} limit ${rowsAtOnce} for update`,
    [...columns.map(() => prefix), ...(after ? key.map((name) => after[name]) : [])],
  )
  let incomplete = 0
  for (const row of rows) {
    const rewritten = columns.map((name) => {
      const text = row[name]
      return !text || text.startsWith(prefix) ? text : rewrite(text, row)
    })
    if (columns.some((name, index) => row[name] && rewritten[index] === null)) incomplete++
    const isKey = key.map((name) => `${name} = ?`).join(' and ')
    const assignments = columns.map((name) => `${name} = coalesce(?, ${name})`).join(', ')
    const parameters = [...rewritten, ...key.map((name) => row[name])]
    await changeRows(em, `update ${table} set ${assignments} where ${isKey}`, parameters)
  }
  return { changed: rows.length - incomplete, incomplete, next: rows.length < rowsAtOnce ? undefined : rows.at(-1) }
}
