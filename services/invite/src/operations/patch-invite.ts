import { inviteChanged, type patchInviteBody } from '@gatehouse/contracts'
import type { Invite } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { ChangeDeps } from '../deps.ts'
import { changeInvite, changeLimits, type Target } from './invite-change.ts'

type Input = Target & { change: z.infer<typeof patchInviteBody> }

/** A past expiresAt ends the invite. Throws invite_unknown, invite_revoked, max_uses_too_low. Contract: 4, PATCH. */
export async function patchInvite(deps: ChangeDeps, { change, ...target }: Input): Promise<Invite> {
  return await changeInvite(deps, target, (invite) => {
    if (invite.revokedAt) throw refuse.invite_revoked()
    if (Object.keys(change).length === 0) return null
    if (change.maxUses != null && change.maxUses < invite.usedCount) throw refuse.max_uses_too_low()
    if (change.name !== undefined) invite.name = change.name
    changeLimits(invite, change)
    return { event: inviteChanged, action: 'invite.changed', detail: change }
  })
}
