import type { listInvitesQuery } from '@gatehouse/contracts'
import { Invite, InviteRedemption, activeInvites } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'

/** Where a list goes on: `cursor` is the id of the last row of the page before. Contract: 4. */
type Page = { limit: number; cursor?: string | undefined }

/** A page of the active invites, or of all the others, newest first. Contract: 4. */
export async function listInvites(
  { orm, clock }: Pick<Deps, 'orm' | 'clock'>,
  query: z.infer<typeof listInvitesQuery>,
) {
  const active = activeInvites(clock.now())
  const { where, options } = pageQueryOf(query)
  const ofStatus = query.status === 'active' ? active : { $not: active }
  return pageOf(await orm.em.fork().find(Invite, { $and: [where, ofStatus] }, options), query)
}

/** A page of an invite's redemptions, newest first. Throws invite_unknown. Spec: Invite redemption; Contract: 4. */
export async function listRedemptions({ orm }: Pick<Deps, 'orm'>, inviteId: string, page: Page) {
  const em = orm.em.fork()
  if ((await em.count(Invite, { id: inviteId })) === 0) throw refuse.invite_unknown()
  const { where, options } = pageQueryOf(page)
  return pageOf(await em.find(InviteRedemption, { inviteId, ...where }, options), page)
}

/** The part of a query that finds a page of rows, newest first, and one more that tells whether the list goes on. */
function pageQueryOf({ limit, cursor }: Page) {
  return {
    where: cursor === undefined ? {} : { id: { $lt: cursor } },
    options: { orderBy: { id: 'desc' }, limit: limit + 1 },
  } as const
}

/** Splits what such a query found into the page and the cursor of the next one, null at the end. */
function pageOf<Row extends { id: string }>(found: Row[], { limit }: Page) {
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, nextCursor: last && found.length > limit ? last.id : null }
}
