import { recordAudit } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { loadLockedInvite } from '../queries/load-locked-invite.ts'
import type { Admin } from './admin.ts'

/**
 * Deletes an invite; the record of who came by it goes with it, the accounts stay. Throws invite_unknown.
 * Spec: Invite redemption, inviteId; Contract: 4.
 */
export async function deleteInvite(
  deps: Pick<Deps, 'orm' | 'clock'>,
  { id, admin }: { id: string; admin: Admin },
): Promise<void> {
  await deps.orm.em.fork().transactional(async (em) => {
    const invite = await loadLockedInvite(em, id)
    em.remove(invite)
    recordAudit(em, {
      action: 'invite.deleted',
      actor: admin,
      target: { type: 'invite', id },
      detail: { name: invite.name, usedCount: invite.usedCount },
      at: new Date(deps.clock.now()),
    })
  })
}
