import type pg from 'pg'
import { volatileTables } from './format.ts'

/** For sorting an index, or joining the two sides of a reference. */
const buildMemory = '128MB'

/**
 * Drops the indexes and references of the schema before `fill`, and creates them again afterwards as they were, within the
 * transaction of `client`. Row by row they cost more than the rows. What triggers look into stays: keys, unique indexes, and
 * those of the tables that an archive leaves out.
 */
export async function withoutIndexes(client: pg.ClientBase, fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ drop: string; create: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
       format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create
     from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace
     union all
     select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
     from pg_index join pg_class on pg_class.oid = indrelid
     where relnamespace = current_schema()::regnamespace and not indisunique and relname <> all($1)
       and not exists (select from pg_constraint where conindid = indexrelid)`,
    [[...volatileTables]],
  )
  for (const { drop } of rows) await client.query(drop)
  await fill()
  await client.query(`set local maintenance_work_mem = '${buildMemory}'`)
  // The references come first: they need none of these indexes.
  for (const { create } of rows) await client.query(create)
}
