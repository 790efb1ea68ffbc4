import type { EntityClass, EntityManager, EntityProperty, Platform } from '@mikro-orm/postgresql'

/** `?` marks a parameter. Runs in the transaction of `em`, if there is one. */
export async function selectRows<Row>(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  return await em.execute<Row[]>(sql, parameters, 'all')
}

export async function changeRows(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(sql, parameters, 'run')
  return affectedRows
}

export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === constraint
}

/** For `= any(?::bigint[])`: the statement's text does not depend on the number of ids. */
export function bigintArray(ids: readonly string[]): string {
  return `{${ids.join(',')}}`
}

export type EntityColumns<T, P extends keyof T> = {
  /** Each column has the name of its property. */
  sql: string
  read<Row extends object>(row: Row): Row & Pick<T, P>
}

/** For reads of thousands of rows without entities: 100 users take 0.2 ms instead of 4 ms with `em.map`. */
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

/** Undefined where driver and entity have the same value. Null stays null. */
function conversionOf(
  { customType, runtimeType }: EntityProperty,
  platform: Platform,
): ((value: unknown) => unknown) | undefined {
  if (customType) return (value): unknown => customType.convertToJSValue(value, platform)
  return runtimeType === 'Date' ? (value) => platform.parseDate(String(value)) : undefined
}
