import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** Tables that an instance may lack. Spec: Tombstone, deleted rows. */
const names = ['bans', 'join_requests', 'voice_restrictions'] as const

export type OptionalTable = (typeof names)[number]

/** Which of them are there. Asked beforehand: a missing table would abort the transaction that names it. */
export async function findOptionalTables(em: EntityManager): Promise<ReadonlySet<OptionalTable>> {
  const rows = await selectRows<{ name: OptionalTable }>(
    em,
    'select name from unnest(?::text[]) as name where to_regclass(name) is not null',
    [`{${names.join(',')}}`],
  )
  return new Set(rows.map((row) => row.name))
}
