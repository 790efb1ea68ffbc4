import { changeRows } from '@gatehouse/database'
import { ProviderTicket } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'

/** No sign-in at a provider from before counts for the account any more. Call it under the account's lock. Contract: 3, Identity providers. */
export async function endTickets(em: EntityManager, userId: string): Promise<void> {
  await em.nativeDelete(ProviderTicket, { userId })
  const ofIdentities = `delete from provider_tickets using linked_identities as linked where linked.user_id = ?
    and provider_tickets.issuer = linked.issuer and provider_tickets.subject = linked.subject`
  await changeRows(em, ofIdentities, [userId])
}
