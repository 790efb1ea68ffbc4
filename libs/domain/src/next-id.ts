import type { EntityManager } from '@mikro-orm/postgresql'

/** A new id, unique across every replica: the database makes it. Contract: 1; docs/decisions/ids.md. */
export async function nextId(em: EntityManager): Promise<string> {
  const [row] = (await em.execute('select next_snowflake()::text as id')) as { id: string }[]
  if (!row) throw new Error('next_snowflake() gave no row')
  return row.id
}
