import { changeRows } from '@gatehouse/database'
import type { EntityManager } from '@mikro-orm/postgresql'

/** No sign-in at a provider from before counts for the account any more. Call it under the account's lock. Contract: 3, Identity providers. */
export async function endTickets(em: EntityManager, userId: string): Promise<void> {
  const sql = `delete from provider_tickets where user_id = ? or (issuer, subject) in (
      select issuer, subject from linked_identities where user_id = ?)`
  await changeRows(em, sql, [userId, userId])
}
