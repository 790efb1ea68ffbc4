import { setImmediate } from 'node:timers/promises'
import { batchCalls, type BatchedCall } from '@gatehouse/runtime'
import type { EntityName, EntityManager } from '@mikro-orm/postgresql'
import { DatabaseError } from 'pg'
import { assertNoTransaction, withConnection } from './driver.ts'
import { columnsOf } from './rows.ts'

type Statement<T extends object, P extends keyof T & string> = {
  /** One for each text: PostgreSQL keeps the plan under it. */
  name: string
  entity: EntityName<T>
  properties: readonly P[]
}

/** The row whose `key` is the value, undefined when there is none. `em` is in no transaction. */
export type BatchedRead<Row> = (em: EntityManager, value: string) => Promise<Row | undefined>

/**
 * For the most frequent reads: one statement reads the rows for all values of one turn of the event loop. PostgreSQL plans
 * it once per connection, and no entity is made. Errors are those of the ORM. bench/NOTES.md.
 */
export function batchedRead<T extends object, P extends keyof T & string>(
  statement: Statement<T, P> & { key: NoInfer<P> },
): BatchedRead<Pick<T, P>> {
  const { key } = statement
  return batchBy(key, prepareRead({ ...statement, where: `${key} = any($1)` }))
}

type Values = readonly unknown[]

/** A function for `values` is called when the read has a connection. */
type PreparedRead<Row> = (em: EntityManager, values: Values | (() => Values)) => Promise<Row[]>

/** A migration changed a column after the connection prepared the statement. */
const planOutdated = '0A000'

/** Values are `$1`, `$2`. */
export function prepareRead<T extends object, P extends keyof T & string>(
  statement: Statement<T, P> & { where: string },
): PreparedRead<Pick<T, P>> {
  const { name, entity, properties, where } = statement
  return prepare(name, (em) => {
    const { sql, read } = columnsOf(em, entity, properties)
    return { text: `select ${sql} from ${em.getMetadata().get(entity).tableName} where ${where}`, read }
  })
}

type Compiled<Row> = { text: string; read: (row: object) => Row }

/** As `batchedRead`, for a statement of any tables: `$1` is the array of values, and a column has the name of `key`. */
export function batchedStatement<Row extends object>({
  name,
  key,
  compile,
}: {
  name: string
  key: keyof Row & string
  compile: (em: EntityManager) => Compiled<Row>
}): BatchedRead<Row> {
  return batchBy(key, prepare(name, compile))
}

function prepare<Row>(name: string, compile: (em: EntityManager) => Compiled<Row>): PreparedRead<Row> {
  let compiled: Compiled<Row> | undefined
  return async (em, input) => {
    const { text, read } = (compiled ??= compile(em))
    let values: Values | undefined
    const run = () =>
      withConnection(em, async (client) => {
        values ??= typeof input === 'function' ? input() : input
        return await client.query<object>({ name, text, values: [...values] })
      })
    const { rows } = await run().catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === planOutdated) return run()
      throw error
    })
    return rows.map((row) => read(row))
  }
}

/** A new connection may take seconds. A later batch may find a free one. */
const defaultJoinMs = 20

/** `read` takes an array of values. An id is a number as text. */
export function batchBy<Row extends object>(
  key: keyof Row & string,
  read: PreparedRead<Row>,
  joinMs = defaultJoinMs,
): BatchedRead<Row> {
  const callOf = new WeakMap<object, BatchedCall<Row>>()

  /** `em` is of no caller, who may begin a transaction with its own. */
  function batchOn(em: EntityManager): BatchedCall<Row> {
    return batchCalls(async (close) => {
      await setImmediate()
      // No call joins once the statement is sent.
      const rows = await read(em, () => [close()])
      return new Map(rows.map((row) => [String(row[key]), row]))
    }, joinMs)
  }

  return (em, keyValue) => {
    assertNoTransaction(em)
    const value = key === 'id' && keyValue.startsWith('0') ? String(BigInt(keyValue)) : keyValue
    const connection = em.getConnection()
    const call = callOf.get(connection) ?? batchOn(em.fork())
    callOf.set(connection, call)
    return call(value)
  }
}
