import type { EntityManager } from '@mikro-orm/postgresql'
import { read } from './rows.ts'

/** Whether users are found by a part of a name. Without pg_trgm the start of the username is all that an index tells. */
export async function findsPartsOfNames(em: EntityManager): Promise<boolean> {
  const [index] = await read<{ method: string }>(
    em,
    `select amname as method from pg_class c join pg_am m on m.oid = c.relam where c.oid = 'users_names'::regclass`,
  )
  return index?.method === 'gin'
}
