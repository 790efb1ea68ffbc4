import type { EntityManager } from '@mikro-orm/postgresql'
import type { QueryResult } from 'pg'
import { poolOf, withConnection } from './pool-connections.ts'

/** Limits of one statement: PostgreSQL cancels it after `statementMs`, and sorts and hashes within `workMem`. */
export type ReadLimits = { statementMs: number; workMem: `${number}MB` }

/**
 * As `selectRows`, for one read with limits of its own. They travel in one message with the statement, whose transaction
 * PostgreSQL opens and ends by itself: a transaction of the ORM would be four round trips more. `em` is in no transaction.
 * `sql` is a single statement. Errors are those of the ORM's reads.
 */
export async function selectRowsWithin<Row>(
  em: EntityManager,
  { statementMs, workMem }: ReadLimits,
  sql: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const statement = em.getPlatform().formatQuery(sql, parameters)
  const limits = `set local statement_timeout = ${statementMs}; set local work_mem = '${workMem}'`
  return await withConnection(await poolOf(em), async (client) => {
    // One result for each statement of the message; the types know only messages with one.
    const results: unknown = await client.query(`${limits}; ${statement}`)
    const [, , read] = results as [QueryResult, QueryResult, QueryResult]
    return read.rows as Row[]
  })
}
