import type { EntityClass, EntityManager, EntityProperty, Platform } from '@mikro-orm/postgresql'

/** Runs SQL with `?` placeholders in the transaction of `em`, if there is one, and gives its rows. */
export async function selectRows<Row>(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  return await em.execute<Row[]>(sql, parameters, 'all')
}

/** Runs SQL that changes rows and gives how many it changed. */
export async function changeRows(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(sql, parameters, 'run')
  return affectedRows
}

/** Whether a fault is the violation of the named unique constraint or index. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === constraint
}

/** Ids as one parameter, for `= any(?::bigint[])`: the statement's text is the same for any number of them. */
export function bigintArray(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}

/** The columns of an entity for raw SQL, and how to read its rows. */
export type EntityColumns<T, P extends keyof T> = {
  /** For the select list: each column under the name of its property. */
  sql: string
  /** Gives the properties the types of the entity; other columns of the row stay as they are. */
  read<Row extends object>(row: Row): Row & Pick<T, P>
}

/**
 * Columns of an entity from its metadata, for reads of thousands of rows: a row does not become an entity and nothing
 * tracks it, which costs a twentieth of `em.map` (100 users: 0.2 ms against 4 ms).
 */
export function columnsOf<T extends object, P extends keyof T & string>(
  em: EntityManager,
  entity: EntityClass<T>,
  properties: readonly P[],
): EntityColumns<T, P> {
  const { tableName, properties: metadata } = em.getMetadata().get<Record<string, unknown>>(entity)
  const platform = em.getPlatform()
  const columns = properties.map((name) => {
    const property = metadata[name]
    if (!property) throw new Error(`${tableName} has no property ${name}`)
    return {
      name,
      sql: `${tableName}.${property.fieldNames[0]} as "${name}"`,
      convert: conversionOf(property, platform),
    }
  })
  return {
    sql: columns.map(({ sql }) => sql).join(', '),
    read: (row) => {
      const values = row as Record<string, unknown>
      for (const { name, convert } of columns) {
        if (convert && values[name] !== null) values[name] = convert(values[name])
      }
      return values as never
    },
  }
}

/** From the driver's value to that of the entity, undefined where they are the same. Null stays null. */
function conversionOf(
  { customType, runtimeType }: EntityProperty,
  platform: Platform,
): ((value: unknown) => unknown) | undefined {
  if (customType) return (value): unknown => customType.convertToJSValue(value, platform)
  return runtimeType === 'Date' ? (value) => platform.parseDate(String(value)) : undefined
}
