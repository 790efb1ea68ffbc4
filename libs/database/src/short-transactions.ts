import type { EntityManager } from '@mikro-orm/postgresql'
import type { QueryResult } from 'pg'
import { withConnection } from './driver.ts'

export type ShortTransaction = {
  select<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
  commitWith<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>
}

/**
 * Begin and commit travel with the first and last statement: half the round trips. No statement may wait for a lock:
 * the transaction takes no slot. Without `commitWith` it is rolled back. `em` is in no transaction. Throws
 * DatabaseUnavailable and the driver's errors.
 */
export async function runShortTransaction<T>(
  em: EntityManager,
  work: (transaction: ShortTransaction) => Promise<T>,
): Promise<T> {
  const platform = em.getPlatform()
  return await withConnection(em, async (client) => {
    const state = { isOpen: false }

    async function run<Row>(sql: string, parameters: unknown[] = [], isLast = false): Promise<Row[]> {
      const before = state.isOpen ? [] : ['begin']
      const after = isLast ? ['commit'] : []
      state.isOpen = !isLast
      // One result for each statement, or one alone; the types know only one.
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
