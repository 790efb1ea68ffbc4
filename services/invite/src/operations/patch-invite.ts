import type { patchInviteBody } from '@gatehouse/contracts'
import { recordAudit, type Invite } from '@gatehouse/domain'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { refuse } from '../errors.ts'
import { loadLockedInvite } from '../queries/load-locked-invite.ts'
import type { Admin } from './admin.ts'
import { changeLimits } from './change-limits.ts'

type Input = { id: string; change: z.infer<typeof patchInviteBody>; admin: Admin }

/**
 * Renames an invite or moves its limits; expiresAt may go into the past, which ends it. Throws invite_unknown,
 * invite_revoked, max_uses_too_low. Contract: 4, PATCH.
 */
export async function patchInvite(deps: Pick<Deps, 'orm' | 'clock'>, { id, change, admin }: Input): Promise<Invite> {
  return await deps.orm.em.fork().transactional(async (em) => {
    const invite = await loadLockedInvite(em, id)
    if (invite.revokedAt) throw refuse.invite_revoked()
    if (Object.keys(change).length === 0) return invite
    if (change.maxUses != null && change.maxUses < invite.usedCount) throw refuse.max_uses_too_low()
    if (change.name !== undefined) invite.name = change.name
    changeLimits(invite, change)
    recordAudit(em, {
      action: 'invite.changed',
      actor: admin,
      target: { type: 'invite', id },
      detail: change,
      at: new Date(deps.clock.now()),
    })
    return invite
  })
}
