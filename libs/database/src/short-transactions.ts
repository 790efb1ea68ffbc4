import type { EntityManager } from '@mikro-orm/postgresql'
import type { QueryResult } from 'pg'
import { poolOf, withConnection } from './pool-connections.ts'

/** A transaction of few statements: SQL with `?` placeholders, each a single one. */
export type ShortTransaction = {
  select<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
  /** Runs the last statement, and commits. */
  commitWith<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
}

/**
 * Runs a transaction whose begin travels in one message with its first statement, and whose commit with its last: half
 * the round trips of the ORM's, and none of its work. Without `commitWith` it is rolled back. `em` is in no transaction.
 * For statements that wait for no lock: it takes a connection without a turn among the process's transactions. Throws
 * DatabaseUnavailable and the driver's errors; the connection is closed then.
 */
export async function runShortTransaction<T>(
  em: EntityManager,
  work: (transaction: ShortTransaction) => Promise<T>,
): Promise<T> {
  const platform = em.getPlatform()
  return await withConnection(await poolOf(em), async (client) => {
    const state = { isOpen: false }

    async function run<Row>(sql: string, parameters: unknown[] = [], isLast = false): Promise<Row[]> {
      const before = state.isOpen ? [] : ['begin']
      const after = isLast ? ['commit'] : []
      state.isOpen = !isLast
      // One result for each statement, or the result itself of a single one; the types know only the latter.
      const results: unknown = await client.query(
        [...before, platform.formatQuery(sql, parameters), ...after].join('; '),
      )
      const [result] = ([results].flat() as QueryResult[]).slice(before.length)
      return (result?.rows ?? []) as Row[]
    }

    const result = await work({
      select: (sql, parameters) => run(sql, parameters),
      commitWith: (sql, parameters) => run(sql, parameters, true),
    })
    if (state.isOpen) await client.query('rollback')
    return result
  })
}
