import type { listInvitesQuery } from '@gatehouse/contracts'
import { findPage, type Page, type PageRequest } from '@gatehouse/database'
import { Invite, InviteRedemption, activeInvites } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'

/** Newest first. Contract: 4. */
export async function listInvites(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  { status, ...page }: z.infer<typeof listInvitesQuery>,
): Promise<Page<Invite>> {
  const active = activeInvites(clock.now())
  const where = status === 'active' ? active : { $not: active }
  return await findPage(orm.em.fork(), Invite, { ...page, where })
}

/** Newest first. Throws invite_unknown. Spec: Invite redemption; Contract: 4. */
export async function listRedemptions(
  { orm }: Pick<Deps, 'orm'>,
  inviteId: string,
  page: PageRequest,
): Promise<Page<InviteRedemption>> {
  const em = orm.em.fork()
  if ((await em.count(Invite, { id: inviteId })) === 0) throw refuse.invite_unknown()
  return await findPage(em, InviteRedemption, { ...page, where: { inviteId } })
}
