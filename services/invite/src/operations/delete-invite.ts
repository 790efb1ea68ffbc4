import { inviteDeleted } from '@gatehouse/contracts'
import type { ActingAdmin } from '@gatehouse/domain'
import type { ChangeDeps } from '../deps.ts'
import { actAsAdmin, loadLockedInvite, recordInviteChange } from './invite-change.ts'

/**
 * Deletes an invite with its redemptions; the accounts stay. Throws invite_unknown.
 * Spec: Invite redemption, inviteId; Contract: 4.
 */
export async function deleteInvite(deps: ChangeDeps, { id, admin }: { id: string; admin: ActingAdmin }): Promise<void> {
  await actAsAdmin(deps, admin, async (em) => {
    const invite = await loadLockedInvite(em, id)
    em.remove(invite)
    const detail = { name: invite.name, usedCount: invite.usedCount }
    await recordInviteChange(em, deps, { event: inviteDeleted, action: 'invite.deleted', detail, invite, admin })
  })
  deps.relay.notify()
}
