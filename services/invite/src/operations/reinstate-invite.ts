import { inviteReinstated } from '@gatehouse/contracts'
import { deriveInviteStatus, type Invite } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { ChangeDeps } from '../deps.ts'
import { withFreshToken } from './fresh-token.ts'
import { changeInvite, changeLimits, type Limits, type Target } from './invite-change.ts'

type Input = Target & { change: Limits }
type Reinstated = { invite: Invite; tokenRotated: boolean }

/**
 * A revoked invite gets a fresh token: its link stays unusable. Throws invite_unknown, invite_active, invite_still_ended,
 * no_free_token. Spec: Invite status; Contract: 4, reinstate.
 */
export async function reinstateInvite(deps: ChangeDeps, { change, ...target }: Input): Promise<Reinstated> {
  return await withFreshToken(deps, async (freshToken) => {
    let tokenRotated = false
    const invite = await changeInvite(deps, target, (ended) => {
      const now = deps.clock.now()
      const endedBy = deriveInviteStatus(ended, now)
      if (endedBy === 'active') throw refuse.invite_active()
      tokenRotated = endedBy === 'revoked'
      changeLimits(ended, change)
      ended.revokedAt = null
      if (tokenRotated) ended.token = freshToken
      if (deriveInviteStatus(ended, now) !== 'active') throw refuse.invite_still_ended()
      const detail = { name: ended.name, endedBy, ...change, tokenRotated }
      return { event: inviteReinstated, facts: { tokenRotated }, action: 'invite.reinstated', detail }
    })
    return { invite, tokenRotated }
  })
}
