import type { InviteReply, RedemptionReply, listInvitesQuery } from '@gatehouse/contracts'
import { findPage, type PageRequest } from '@gatehouse/database'
import { User, deletedUsername, Invite, InviteRedemption } from '@gatehouse/domain'
import { activeInvites, deriveInviteStatus } from '@gatehouse/invites'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../deps.ts'
import { readQuota } from './member-quota.ts'

type ReplyDeps = Pick<Deps, 'clock' | 'config'>
type ListDeps = ReplyDeps & Pick<Deps, 'orm'>

type Listed = z.infer<typeof listInvitesQuery>

/** Newest first. Contract: 4, lists. */
export async function listInvites(deps: ListDeps, { status, ...page }: Listed, of: FilterQuery<Invite> = {}) {
  const active = activeInvites(deps.clock.now())
  const where = { $and: [of, status === 'active' ? active : { $not: active }] }
  const em = deps.orm.em.fork()
  const { rows, nextCursor } = await findPage(em, Invite, { ...page, where })
  return { invites: await inviteReplies(deps, em, rows), nextCursor }
}

/** A member sees only the invites that they created. Contract: 4, Invites of members. */
export async function listOwnInvites(deps: ListDeps, userId: string, query: Listed) {
  const { allowed, made } = await readQuota(deps, deps.orm.em.fork(), userId)
  const left = Math.max(0, allowed - made)
  return { ...(await listInvites(deps, query, { createdBy: userId, byMember: true })), left }
}

/** Newest first. Throws invite_unknown. Spec: Invite redemption; Contract: 4, redemptions. */
export async function listRedemptions(deps: ListDeps, inviteId: string, page: PageRequest) {
  const em = deps.orm.em.fork()
  if ((await em.count(Invite, { id: inviteId })) === 0) throw refuse.invite_unknown()
  const { rows, nextCursor } = await findPage(em, InviteRedemption, { ...page, where: { inviteId } })
  return { redemptions: await redemptionReplies(em, rows), nextCursor }
}

/** In the transaction of a change: once it has committed, nothing may fail. Contract: 4, invites. */
export async function inviteReply(deps: ReplyDeps, em: EntityManager, invite: Invite): Promise<InviteReply> {
  const [reply] = await inviteReplies(deps, em, [invite])
  if (!reply) throw new Error('an invite without a reply')
  return reply
}

/** Reads the names of all creators at once. Contract: 4, invites. */
async function inviteReplies(deps: ReplyDeps, em: EntityManager, invites: readonly Invite[]) {
  const creatorIds = invites.map((invite) => invite.createdBy)
  const creators = await findCurrentNames(em, creatorIds)
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
async function redemptionReplies(em: EntityManager, rows: readonly InviteRedemption[]): Promise<RedemptionReply[]> {
  const userIds = rows.map(({ userId }) => userId)
  const names = await findCurrentNames(em, userIds)
  return rows.map(({ id, userId = null, registrantUsername, redeemedAt }) => {
    const { username: currentUsername = null, isDeleted = true } = names.get(userId ?? '') ?? {}
    return { id, userId, registrantUsername, currentUsername, isDeleted, redeemedAt: redeemedAt.getTime() }
  })
}

/** By id. Contract: 4, redemptions. */
async function findCurrentNames(em: EntityManager, userIds: readonly (string | null | undefined)[]) {
  const ids = [...new Set(userIds.filter((id) => id != null))]
  const users = ids.length > 0 ? await em.find(User, { id: { $in: ids } }, { fields: nameFields }) : []
  const named = users.map(({ id, username, isDeleted }) => {
    return [id, { username: isDeleted ? deletedUsername : username, isDeleted }] as const
  })
  return new Map(named)
}

const nameFields = ['username', 'isDeleted'] as const
