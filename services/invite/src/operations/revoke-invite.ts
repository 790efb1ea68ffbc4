import { inviteRevoked } from '@gatehouse/contracts'
import type { ActingAdmin, Invite } from '@gatehouse/domain'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { actAsAdmin, loadLockedInvite, recordInviteChange } from './invite-change.ts'

/**
 * Ends an invite at once: a concurrent redemption commits either wholly before or not at all. Throws invite_unknown,
 * invite_revoked. Spec: Invite status; Contract: 4, revoke.
 */
export async function revokeInvite(
  deps: ChangeDeps,
  { id, admin }: { id: string; admin: ActingAdmin },
): Promise<Invite> {
  const revoked = await actAsAdmin(deps, admin, async (em) => {
    const invite = await loadLockedInvite(em, id)
    if (invite.revokedAt) throw refuse.invite_revoked({ message: 'This invite is already revoked' })

    invite.revokedAt = new Date(deps.clock.now())
    const detail = { name: invite.name }
    await recordInviteChange(em, deps, { event: inviteRevoked, action: 'invite.revoked', detail, invite, admin })
    return invite
  })
  deps.relay.notify()
  return revoked
}
