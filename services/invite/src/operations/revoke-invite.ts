import { inviteRevoked } from '@gatehouse/contracts'
import type { ActingAdmin, Invite } from '@gatehouse/domain'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { actAsAdmin, loadLockedInvite, recordInviteChange } from './invite-change.ts'

type Input = { id: string; admin: ActingAdmin; requestId?: string | undefined }

/**
 * Ends an invite at once: a concurrent redemption commits either wholly before or not at all. Throws invite_unknown,
 * invite_revoked. Spec: Invite status; Contract: 4, revoke.
 */
export async function revokeInvite(deps: ChangeDeps, { id, admin, requestId }: Input): Promise<Invite> {
  const revoked = await actAsAdmin(deps, admin, async (em) => {
    const invite = await loadLockedInvite(em, id)
    if (invite.revokedAt) throw refuse.invite_already_revoked()

    invite.revokedAt = new Date(deps.clock.now())
    const detail = { name: invite.name }
    const record = { event: inviteRevoked, action: 'invite.revoked' as const, detail, invite, admin, requestId }
    await recordInviteChange(em, deps, record)
    return invite
  })
  deps.relay.notify()
  return revoked
}
