import type { InviteReply, RedemptionReply, listInvitesQuery } from '@gatehouse/contracts'
import { findPage, type PageRequest } from '@gatehouse/database'
import { User, deletedUsername, Invite, InviteRedemption } from '@gatehouse/domain'
import { activeInvites, deriveInviteStatus } from '@gatehouse/invites'
import { refuse } from '@gatehouse/runtime'
import type { FilterQuery } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { readQuota } from '../operations/create-invite.ts'

type ReplyDeps = Pick<Deps, 'orm' | 'clock' | 'config'>

type Listed = z.infer<typeof listInvitesQuery>

/** Newest first. Contract: 4, lists. */
export async function listInvites(deps: ReplyDeps, { status, ...page }: Listed, of: FilterQuery<Invite> = {}) {
  const active = activeInvites(deps.clock.now())
  const where = { $and: [of, status === 'active' ? active : { $not: active }] }
  const { rows, nextCursor } = await findPage(deps.orm.em.fork(), Invite, { ...page, where })
  return { invites: await inviteReplies(deps, rows), nextCursor }
}

/** A member sees only the invites that they created. Contract: 4, Invites of members. */
export async function listOwnInvites(deps: ReplyDeps, userId: string, query: Listed) {
  const { allowed, made } = await readQuota(deps, deps.orm.em.fork(), userId)
  const left = Math.max(0, allowed - made)
  return { ...(await listInvites(deps, query, { createdBy: userId, byMember: true })), left }
}

/** Newest first. Throws invite_unknown. Spec: Invite redemption; Contract: 4, redemptions. */
export async function listRedemptions(deps: ReplyDeps, inviteId: string, page: PageRequest) {
  const em = deps.orm.em.fork()
  if ((await em.count(Invite, { id: inviteId })) === 0) throw refuse.invite_unknown()
  const { rows, nextCursor } = await findPage(em, InviteRedemption, { ...page, where: { inviteId } })
  return { redemptions: await redemptionReplies(deps, rows), nextCursor }
}

export async function inviteReply(deps: ReplyDeps, invite: Invite): Promise<InviteReply> {
  const [reply] = await inviteReplies(deps, [invite])
  if (!reply) throw new Error('an invite without a reply')
  return reply
}

/** Reads the names of all creators at once. Contract: 4, invites. */
async function inviteReplies(deps: ReplyDeps, invites: readonly Invite[]): Promise<InviteReply[]> {
  const creatorIds = invites.map((invite) => invite.createdBy)
  const creators = await findCurrentNames(deps, creatorIds)
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

/** An account without a row counts as deleted. Contract: 4, redemptions. */
async function redemptionReplies(deps: ReplyDeps, rows: readonly InviteRedemption[]): Promise<RedemptionReply[]> {
  const userIds = rows.map(({ userId }) => userId)
  const names = await findCurrentNames(deps, userIds)
  return rows.map(({ id, userId = null, registrantUsername, redeemedAt }) => {
    const { username: currentUsername = null, isDeleted = true } = names.get(userId ?? '') ?? {}
    return { id, userId, registrantUsername, currentUsername, isDeleted, redeemedAt: redeemedAt.getTime() }
  })
}

/** By id. Contract: 4, redemptions. */
async function findCurrentNames({ orm }: ReplyDeps, userIds: readonly (string | null | undefined)[]) {
  const ids = [...new Set(userIds.filter((id) => id != null))]
  const users = ids.length > 0 ? await orm.em.fork().find(User, { id: { $in: ids } }, { fields: nameFields }) : []
  const named = users.map(({ id, username, isDeleted }) => {
    return [id, { username: isDeleted ? deletedUsername : username, isDeleted }] as const
  })
  return new Map(named)
}

const nameFields = ['username', 'isDeleted'] as const
