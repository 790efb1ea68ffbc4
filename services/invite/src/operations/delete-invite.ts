import { inviteDeleted } from '@gatehouse/contracts'
import type { ActingAdmin } from '@gatehouse/domain'
import type { ChangeDeps } from '../deps.ts'
import { actAsAdmin, loadLockedInvite, recordInviteChange } from './invite-change.ts'

type Input = { id: string; admin: ActingAdmin; requestId?: string | undefined }

/**
 * Deletes an invite with its redemptions; the accounts stay. Throws invite_unknown.
 * Spec: Invite redemption, inviteId; Contract: 4.
 */
export async function deleteInvite(deps: ChangeDeps, { id, admin, requestId }: Input): Promise<void> {
  await actAsAdmin(deps, admin, async (em) => {
    const invite = await loadLockedInvite(em, id)
    em.remove(invite)
    const detail = { name: invite.name, usedCount: invite.usedCount }
    const record = { event: inviteDeleted, action: 'invite.deleted' as const, detail, invite, admin, requestId }
    await recordInviteChange(em, deps, record)
  })
  deps.relay.notify()
}
