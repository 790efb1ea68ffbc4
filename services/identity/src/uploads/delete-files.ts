import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Records the files of deleted rows for removal. The statement returns `filename`. */
export async function deleteFiles(em: EntityManager, sql: string, parameters: unknown[]): Promise<void> {
  const record = `with deleted as (${sql}) insert into file_removals (filename) select filename from deleted`
  await changeRows(em, record, parameters)
}
