import { defineEntity, Type } from '@mikro-orm/core'

/** The schema of an entity without constraints over several columns. */
export function defineTable<
  const Name extends string,
  const Table extends string,
  const Properties extends Record<string, unknown>,
>(name: Name, tableName: Table, properties: Properties) {
  return defineEntity({ name, tableName, properties })
}

export abstract class TextColumn<Value, Stored> extends Type<Value, Stored> {
  override getColumnType(): string {
    return 'text'
  }

  override compareAsType(): string {
    return 'string'
  }
}
