import type { EntityManager } from '@mikro-orm/postgresql'

/** Runs SQL with `?` placeholders in the transaction of `em`, if there is one, and gives its rows. */
export async function selectRows<Row>(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  return (await em.execute(sql, parameters, 'all')) as Row[]
}

/** Runs SQL that changes rows and gives how many it changed. */
export async function changeRows(em: EntityManager, sql: string, parameters: unknown[] = []): Promise<number> {
  const result = (await em.execute(sql, parameters, 'run')) as { affectedRows: number }
  return result.affectedRows
}

/** Whether a fault is the violation of the named unique constraint or index. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof Error && 'constraint' in error && error.constraint === constraint
}
