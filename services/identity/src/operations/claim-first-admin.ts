import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/**
 * Whether this new local account becomes the first admin. The settings row is taken once: of many at the same time, one
 * waits for the other's commit and finds the post filled. Spec: Registration 9; Contract: 3, register.
 */
export async function claimFirstAdmin(em: EntityManager, userId: string): Promise<boolean> {
  const claimed = await changeRows(
    em,
    'update instance_settings set first_admin_id = ? where id = 1 and first_admin_id is null',
    [userId],
  )
  return claimed === 1
}
