import type { EntityClass, EntityManager } from '@mikro-orm/postgresql'
import { DatabaseError, type Pool } from 'pg'
import { poolOf, withConnection } from './pool-connections.ts'
import { columnsOf } from './rows.ts'

/**
 * Reads rows, each with the properties that the statement names. `em` is in no transaction: the read has a connection of
 * its own. A function gives the values when it has one.
 */
export type PreparedRead<Row> = (em: EntityManager, values: Values | (() => Values)) => Promise<Row[]>

type Values = readonly unknown[]

type Statement<T extends object, P extends keyof T & string> = {
  /** Unique among all prepared reads. */
  name: string
  entity: EntityClass<T>
  properties: readonly P[]
  /** The condition, with its values as `$1`, `$2`. */
  where: string
}

/** The text of a statement, and how to read its rows. */
type Compiled<Row> = { text: string; read: (row: object) => Row }

const names = new Set<string>()

/**
 * A read for the requests that come most often: PostgreSQL parses and plans it once for each connection, and a row becomes
 * no entity. The ORM's own read of one account took a third of a request's processor time. Errors are those of the ORM's
 * reads.
 */
export function prepareRead<T extends object, P extends keyof T & string>(
  statement: Statement<T, P>,
): PreparedRead<Pick<T, P>> {
  if (names.has(statement.name)) throw new Error(`two prepared reads have the name ${statement.name}`)
  names.add(statement.name)
  const { name } = statement
  let compiled: Compiled<Pick<T, P>> | undefined
  return async (em, values) => {
    compiled ??= compile(em, statement)
    const { text, read } = compiled
    const rows = await runPrepared(await poolOf(em), { name, text, values })
    return rows.map(read)
  }
}

function compile<T extends object, P extends keyof T & string>(
  em: EntityManager,
  { entity, properties, where }: Statement<T, P>,
): Compiled<Pick<T, P>> {
  const columns = columnsOf(em, entity, properties)
  const { tableName } = em.getMetadata().get(entity)
  return { text: `select ${columns.sql} from ${tableName} where ${where}`, read: columns.read }
}

type Query = { name: string; text: string; values: Values | (() => Values) }

/** "cached plan must not change result type": a migration has changed a column since the connection prepared the statement. */
const planOutdated = '0A000'

async function runPrepared(pool: Pool, query: Query, isRepeated = false): Promise<object[]> {
  let { values } = query
  try {
    return await withConnection(pool, async (client) => {
      if (typeof values === 'function') values = values()
      const { rows } = await client.query<object>({ ...query, values: [...values] })
      return rows
    })
  } catch (error) {
    const isOutdated = error instanceof DatabaseError && error.code === planOutdated
    if (!isOutdated || isRepeated) throw error
    return await runPrepared(pool, { ...query, values }, true)
  }
}
