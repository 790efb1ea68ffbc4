import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

export type OwnedSpace = { id: string; name: string }

/** The spaces that somebody has to give away or delete before their account can go. Spec: DELETE self 3. */
export async function listOwnedSpaces(em: EntityManager, userId: string): Promise<OwnedSpace[]> {
  const sql = 'select id::text as id, name from spaces where owner_id = ? order by spaces.id'
  return await selectRows<OwnedSpace>(em, sql, [userId])
}
