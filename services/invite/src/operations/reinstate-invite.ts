import { inviteReinstated } from '@gatehouse/contracts'
import { deriveInviteStatus, type Invite, type ActingAdmin } from '@gatehouse/domain'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { withFreshToken } from './fresh-token.ts'
import { actAsAdmin, changeLimits, loadLockedInvite, recordInviteChange, type Limits } from './invite-change.ts'

type Input = { id: string; change: Limits; admin: ActingAdmin; requestId?: string | undefined }
type Reinstated = { invite: Invite; tokenRotated: boolean }

/**
 * Makes an ended invite active again, with new limits where they are given. A revoked one gets a fresh token, so that
 * the revoked link stays unusable. One that would still not be active is left unchanged. Throws invite_unknown,
 * invite_active, invite_still_ended, no_free_token. Spec: Invite status; Contract: 4, reinstate.
 */
export async function reinstateInvite(deps: ChangeDeps, { id, change, admin, requestId }: Input): Promise<Reinstated> {
  const reinstated = await withFreshToken(deps, async (freshToken) => {
    return await actAsAdmin(deps, admin, async (em) => {
      const now = deps.clock.now()
      const invite = await loadLockedInvite(em, id)
      const endedBy = deriveInviteStatus(invite, now)
      if (endedBy === 'active') throw refuse.invite_active()

      const tokenRotated = endedBy === 'revoked'
      changeLimits(invite, change)
      invite.revokedAt = null
      if (tokenRotated) invite.token = freshToken
      if (deriveInviteStatus(invite, now) !== 'active') throw refuse.invite_still_ended()

      const detail = { name: invite.name, endedBy, ...change, tokenRotated }
      const record = { event: inviteReinstated, facts: { tokenRotated }, action: 'invite.reinstated' as const, detail }
      await recordInviteChange(em, deps, { ...record, invite, admin, requestId })
      return { invite, tokenRotated }
    })
  })
  deps.relay.notify()
  return reinstated
}
