import { inviteChanged, type patchInviteBody } from '@gatehouse/contracts'
import type { ActingAdmin, Invite } from '@gatehouse/domain'
import type { z } from 'zod'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { actAsAdmin, changeLimits, loadLockedInvite, recordInviteChange } from './invite-change.ts'

type Input = {
  id: string
  change: z.infer<typeof patchInviteBody>
  admin: ActingAdmin
  requestId?: string | undefined
}

/**
 * Renames an invite or moves its limits; expiresAt may go into the past, which ends it. Throws invite_unknown,
 * invite_revoked, max_uses_too_low. Contract: 4, PATCH.
 */
export async function patchInvite(deps: ChangeDeps, { id, change, admin, requestId }: Input): Promise<Invite> {
  const patched = await actAsAdmin(deps, admin, async (em) => {
    const invite = await loadLockedInvite(em, id)
    if (invite.revokedAt) throw refuse.invite_revoked()
    if (Object.keys(change).length === 0) return invite
    if (change.maxUses != null && change.maxUses < invite.usedCount) throw refuse.max_uses_too_low()

    if (change.name !== undefined) invite.name = change.name
    changeLimits(invite, change)
    const facts = { detail: change, invite, admin, requestId }
    const record = { event: inviteChanged, action: 'invite.changed' as const, ...facts }
    await recordInviteChange(em, deps, record)
    return invite
  })
  deps.relay.notify()
  return patched
}
