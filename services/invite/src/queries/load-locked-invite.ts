import { Invite } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import { refuse } from '../errors.ts'

/**
 * An invite whose row nobody else changes until the transaction of `em` ends: neither another admin nor a redemption.
 * Throws invite_unknown.
 */
export async function loadLockedInvite(em: EntityManager, id: string): Promise<Invite> {
  const invite = await em.findOne(Invite, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!invite) throw refuse.invite_unknown()
  return invite
}
