import type { EntityManager } from '@mikro-orm/postgresql'
import type { QueryResult } from 'pg'
import { withConnection, withStatementLimit } from './driver.ts'

/** PostgreSQL cancels after `statementMs`, and sorts within `workMem`. */
export type ReadLimits = { statementMs: number; workMem: `${number}MB` }

/** `sql` is one statement, and `em` is in no transaction. The limits travel with the statement in one message. */
export async function selectRowsWithin<Row>(
  em: EntityManager,
  { statementMs, workMem }: ReadLimits,
  sql: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const statement = em.getPlatform().formatQuery(sql, parameters)
  const limits = `set local statement_timeout = ${statementMs}; set local work_mem = '${workMem}'`
  return await withConnection(em, async (client) => {
    // The message has several statements; the types know one.
    const results: unknown = await withStatementLimit(statementMs, () => client.query(`${limits}; ${statement}`))
    const [, , read] = results as [QueryResult, QueryResult, QueryResult]
    return read.rows as Row[]
  })
}
