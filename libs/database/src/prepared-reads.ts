import type { EntityClass, EntityManager } from '@mikro-orm/postgresql'
import { DatabaseError } from 'pg'
import { withConnection } from './driver.ts'
import { columnsOf } from './rows.ts'

/** `em` is in no transaction. A function for `values` is called when the read has a connection. */
export type PreparedRead<Row> = (em: EntityManager, values: Values | (() => Values)) => Promise<Row[]>

type Values = readonly unknown[]

type Statement<T extends object, P extends keyof T & string> = {
  name: string
  entity: EntityClass<T>
  properties: readonly P[]
  /** Values are `$1`, `$2`. */
  where: string
}

type Compiled<Row> = { text: string; read: (row: object) => Row }

const names = new Set<string>()

/** For the most frequent reads: PostgreSQL plans once per connection, and no entity is made. Errors are those of the ORM. */
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
    const rows = await runPrepared(em, { name, text, values })
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

/** A migration changed a column after the connection prepared the statement. */
const planOutdated = '0A000'

async function runPrepared(em: EntityManager, query: Query, isRepeated = false): Promise<object[]> {
  let { values } = query
  try {
    return await withConnection(em, async (client) => {
      if (typeof values === 'function') values = values()
      const { rows } = await client.query<object>({ ...query, values: [...values] })
      return rows
    })
  } catch (error) {
    const isOutdated = error instanceof DatabaseError && error.code === planOutdated
    if (!isOutdated || isRepeated) throw error
    return await runPrepared(em, { ...query, values }, true)
  }
}
