import { join } from 'node:path'
import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** On the disk of the finished files. No public name starts with a dot. */
export const tempUploadDir = (uploadDir: string): string => join(uploadDir, '.incoming')

/** A name that is no path, and does not start with a dot. */
export const isUploadName = (name: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)

/** Records the files of deleted rows for removal. The statement returns `filename`. */
export async function deleteFiles(em: EntityManager, sql: string, parameters: unknown[]): Promise<void> {
  const record = `with deleted as (${sql}) insert into file_removals (filename) select filename from deleted`
  await changeRows(em, record, parameters)
}
