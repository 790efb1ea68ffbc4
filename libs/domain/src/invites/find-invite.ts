import type { InviteStatus } from '@gatehouse/contracts'
import { Invite } from '../entities/invite.ts'
import type { EntityManager } from '@mikro-orm/postgresql'
import { deriveInviteStatus } from './derive-invite-status.ts'

/**
 * The invite of a token with its status at `now` (milliseconds), or null. It locks nothing: good enough to turn somebody
 * away early, never to let them in. Spec: Registration 4.
 */
export async function findInvite(
  em: EntityManager,
  { token, now }: { token: string; now: number },
): Promise<{ invite: Invite; status: InviteStatus } | null> {
  const invite = await em.findOne(Invite, { token })
  return invite && { invite, status: deriveInviteStatus(invite, now) }
}
