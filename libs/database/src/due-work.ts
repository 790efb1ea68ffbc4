import type { EntityManager } from '@mikro-orm/postgresql'
import { read } from './rows.ts'

/** Rows that wait for their time. `key` is unique, and may be several columns. `where` has the values of `parameters`. */
export type DueQueue = {
  table: string
  key: string
  time?: string
  where?: string
  parameters?: readonly unknown[]
}

type Claim = { now: number; leaseMs: number; most: number; returning: string }

/**
 * At most `most` rows, those that are due for longest first. Any number of replicas may claim: one gets each row until its lease ends.
 * A crash changes nothing else, so the row is due again then. After its work the caller deletes the row, or sets its next time.
 */
export async function claimDue<Row>(em: EntityManager, queue: DueQueue, claim: Claim): Promise<Row[]> {
  const { table, key, time = 'next_attempt_at', where = 'true', parameters = [] } = queue
  const { now, leaseMs, most, returning } = claim
  const sql = `update ${table} set ${time} = ? where (${key}) in (
      select ${key} from ${table} where ${where} and ${time} <= ?
      order by ${time} limit ? for update skip locked)
    returning ${returning}`
  return await read<Row>(em, sql, [new Date(now + leaseMs), ...parameters, new Date(now), most])
}
