import { recordAudit, type Invite } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { loadLockedInvite } from '../queries/load-locked-invite.ts'
import type { Admin } from './admin.ts'

/**
 * Ends an invite at once: a redemption under way comes either wholly before or not at all. Throws invite_unknown,
 * invite_revoked. Spec: Invite status; Contract: 4, revoke.
 */
export async function revokeInvite(
  deps: Pick<Deps, 'orm' | 'clock'>,
  { id, admin }: { id: string; admin: Admin },
): Promise<Invite> {
  return await deps.orm.em.fork().transactional(async (em) => {
    const invite = await loadLockedInvite(em, id)
    if (invite.revokedAt) throw refuse.invite_revoked({ message: 'This invite is already revoked' })
    const at = new Date(deps.clock.now())
    invite.revokedAt = at
    recordAudit(em, {
      action: 'invite.revoked',
      actor: admin,
      target: { type: 'invite', id },
      detail: { name: invite.name },
      at,
    })
    return invite
  })
}
