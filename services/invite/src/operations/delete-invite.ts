import { inviteDeleted } from '@gatehouse/contracts'
import type { ChangeDeps } from '../deps.ts'
import { changeInvite, type Target } from './invite-change.ts'

/** The redemptions go too, the accounts stay. Throws invite_unknown. Spec: Invite redemption, inviteId; Contract: 4. */
export async function deleteInvite(deps: ChangeDeps, target: Target): Promise<void> {
  await changeInvite(deps, target, (invite, em) => {
    em.remove(invite)
    const detail = { name: invite.name, usedCount: invite.usedCount }
    return { event: inviteDeleted, action: 'invite.deleted', detail }
  })
}
