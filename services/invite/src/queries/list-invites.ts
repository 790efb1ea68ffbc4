import type { listInvitesQuery } from '@gatehouse/contracts'
import { Invite, activeInvites } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { pageOf, pageQueryOf } from './page.ts'

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
