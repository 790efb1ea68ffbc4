import type pg from 'pg'

const batchRows = 2_000

export type Inserter = { add(row: Record<string, unknown>): Promise<void>; flush(): Promise<void> }

/** Inserts rows of one table in batches, in the transaction of `client`. Column names are those of this program. */
export function insertInto(client: pg.ClientBase, table: string, columns: readonly string[]): Inserter {
  const list = columns.join(', ')
  const sql = `insert into ${table} (${list}) select ${list} from json_populate_recordset(null::${table}, $1::json)`
  let rows: Record<string, unknown>[] = []
  async function flush(): Promise<void> {
    const batch = rows
    rows = []
    if (batch.length > 0) await client.query(sql, [JSON.stringify(batch)])
  }
  return {
    flush,
    add: async (row) => {
      rows.push(row)
      if (rows.length >= batchRows) await flush()
    },
  }
}
