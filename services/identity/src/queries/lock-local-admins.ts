import { selectRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * The live local admins, whose number must not fall to zero. All admins are locked, in the order of their ids: of two who
 * demote each other one waits, and then reads the remaining ones. Contract: 5.
 */
export async function lockLocalAdmins(em: EntityManager): Promise<{ id: string }[]> {
  type Row = { id: string; counts: boolean }
  const sql = `select id::text as id, home_instance is null and not is_deleted as counts
    from users where is_admin order by users.id for no key update`
  return (await selectRows<Row>(em, sql)).filter(({ counts }) => counts)
}
