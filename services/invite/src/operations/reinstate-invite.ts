import { recordAudit, type Invite, deriveInviteStatus } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { loadLockedInvite } from '../queries/load-locked-invite.ts'
import type { Admin } from './admin.ts'
import { changeLimits, type Limits } from './change-limits.ts'
import { withFreshToken } from './with-fresh-token.ts'

type Input = { id: string; change: Limits; admin: Admin }
type Outcome = { invite: Invite; tokenRotated: boolean }

/**
 * Makes an ended invite active again, with new limits where they are given. A revoked one gets a fresh token, so that
 * the link that was taken back stays dead. One that would still not be active stays as it was. Throws invite_unknown,
 * invite_active, invite_still_ended, no_free_token. Spec: Invite status; Contract: 4, reinstate.
 */
export async function reinstateInvite(
  deps: Pick<Deps, 'orm' | 'clock' | 'random'>,
  { id, change, admin }: Input,
): Promise<Outcome> {
  return await withFreshToken(deps, async (freshToken) => {
    return await deps.orm.em.fork().transactional(async (em) => {
      const now = deps.clock.now()
      const invite = await loadLockedInvite(em, id)
      const endedBy = deriveInviteStatus(invite, now)
      if (endedBy === 'active') throw refuse.invite_active()
      const tokenRotated = endedBy === 'revoked'
      changeLimits(invite, change)
      invite.revokedAt = null
      if (tokenRotated) invite.token = freshToken
      if (deriveInviteStatus(invite, now) !== 'active') throw refuse.invite_still_ended()
      recordAudit(em, {
        action: 'invite.reinstated',
        actor: admin,
        target: { type: 'invite', id },
        detail: { name: invite.name, endedBy, ...change, tokenRotated },
        at: new Date(now),
      })
      return { invite, tokenRotated }
    })
  })
}
