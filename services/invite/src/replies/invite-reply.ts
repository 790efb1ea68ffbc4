import type { InviteReply } from '@gatehouse/contracts'
import { deriveInviteStatus, type Invite } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { findCurrentNames } from '../queries/find-current-names.ts'

type Needs = Pick<Deps, 'orm' | 'clock' | 'config'>

/** Invites as admins see them, with the status of this moment. Contract: 4. */
export async function inviteReplies(deps: Needs, invites: readonly Invite[]): Promise<InviteReply[]> {
  const creators = await findCurrentNames(
    deps,
    invites.map((invite) => invite.createdBy),
  )
  const now = deps.clock.now()
  return invites.map((invite) => ({
    id: invite.id,
    token: invite.token,
    name: invite.name,
    status: deriveInviteStatus(invite, now),
    maxUses: invite.maxUses ?? null,
    usedCount: invite.usedCount,
    expiresAt: invite.expiresAt?.getTime() ?? null,
    revokedAt: invite.revokedAt?.getTime() ?? null,
    createdBy: invite.createdBy ?? null,
    createdByUsername: creators.get(invite.createdBy ?? '')?.username ?? null,
    createdAt: invite.createdAt.getTime(),
    lastRedeemedAt: invite.lastRedeemedAt?.getTime() ?? null,
    url: `${deps.config.publicAddress.origin}/register?invite=${invite.token}`,
  }))
}

export async function inviteReply(deps: Needs, invite: Invite): Promise<InviteReply> {
  const [reply] = await inviteReplies(deps, [invite])
  return reply!
}
