import { Invite, InviteRedemption } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { pageOf, pageQueryOf, type Page } from './page.ts'

/** A page of who came by an invite, newest first. Throws invite_unknown. Spec: Invite redemption; Contract: 4. */
export async function listRedemptions({ orm }: Pick<Deps, 'orm'>, inviteId: string, page: Page) {
  const em = orm.em.fork()
  if ((await em.count(Invite, { id: inviteId })) === 0) throw refuse.invite_unknown()
  const { where, options } = pageQueryOf(page)
  return pageOf(await em.find(InviteRedemption, { inviteId, ...where }, options), page)
}
