import { inviteRevoked } from '@gatehouse/contracts'
import type { Invite } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { ChangeDeps } from '../deps.ts'
import { changeInvite, type Target } from './invite-change.ts'

/** Throws invite_unknown, invite_already_revoked. Spec: Invite status; Contract: 4, revoke. */
export async function revokeInvite(deps: ChangeDeps, target: Target): Promise<Invite> {
  return await changeInvite(deps, target, (invite) => {
    if (invite.revokedAt) throw refuse.invite_already_revoked()
    invite.revokedAt = new Date(deps.clock.now())
    return { event: inviteRevoked, action: 'invite.revoked', detail: { name: invite.name } }
  })
}
