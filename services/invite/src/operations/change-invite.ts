import { type ActingAdmin, assertCallerCurrent } from '@gatehouse/authority'
import { inviteChanged, inviteDeleted, inviteReinstated, inviteRevoked } from '@gatehouse/contracts'
import type { AuditAction, EventDefinition, InviteReply, patchInviteBody } from '@gatehouse/contracts'
import { recordAudit, transaction, violates } from '@gatehouse/database'
import { Invite } from '@gatehouse/domain'
import { deriveInviteStatus } from '@gatehouse/invites'
import { enqueue } from '@gatehouse/outbox'
import { randomToken, refuse, type Random } from '@gatehouse/runtime'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { ActingMember, ChangeDeps } from '../deps.ts'
import { policy } from '../policy.ts'
import { inviteReply } from '../replies/invite-reply.ts'

/** Throws as `assertCallerCurrent` does. Design: invariant 1. */
export async function actAsAdmin<T>({ orm }: ChangeDeps, actor: ActingAdmin, act: (em: EntityManager) => Promise<T>) {
  return await transaction(orm, async (em) => {
    await assertCallerCurrent(em, actor, { admin: true })
    return await act(em)
  })
}

type Target = { id: string; actor: ActingAdmin; requestId?: string | undefined }
type Change = {
  event: EventDefinition
  facts?: Record<string, unknown>
  action: AuditAction
  detail: Record<string, unknown>
}

/** Locks the invite against other admins and redemptions. Null: nothing has changed. Throws invite_unknown. */
async function changeInvite(
  deps: ChangeDeps,
  target: Target,
  change: (invite: Invite, em: EntityManager) => Change | null,
): Promise<InviteReply> {
  const changed = await actAsAdmin(deps, target.actor, (em) => changeLocked(deps, em, { where: {}, ...target, change }))
  deps.relay.notify()
  return changed
}

type LockedChange = Target & {
  where: { createdBy?: string; byMember?: boolean }
  change: (invite: Invite, em: EntityManager) => Change | null
}

async function changeLocked(deps: ChangeDeps, em: EntityManager, { id, where, change, ...by }: LockedChange) {
  const invite = await em.findOne(Invite, { ...where, id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
  if (!invite) throw refuse.invite_unknown()
  const record = change(invite, em)
  if (record) await recordInviteChange(em, deps, { ...record, ...by, invite })
  return await inviteReply(deps, em, invite)
}

/** The entry and the event are in the transaction of the change. Contract: 5, audit; Design: invariant 2. */
export async function recordInviteChange(
  em: EntityManager,
  { clock, random }: Pick<ChangeDeps, 'clock' | 'random'>,
  { event, facts, action, detail, invite, actor: by, requestId }: Change & Omit<Target, 'id'> & { invite: Invite },
): Promise<void> {
  const at = clock.now()
  const actor = { userId: by.userId, username: by.username }
  recordAudit(em, { action, actor, target: { type: 'invite', id: invite.id }, detail, at: new Date(at) })
  const payload = { inviteId: invite.id, name: invite.name, at, actor, ...facts }
  await enqueue(em, event, payload, { id: random.uuid(), requestId })
}

type Limits = { maxUses?: number | null | undefined; expiresAt?: number | null | undefined }

/** Null lifts a limit. `expiresAt` in milliseconds. Contract: 4, PATCH. */
function changeLimits(invite: Invite, { maxUses, expiresAt }: Limits): void {
  if (maxUses !== undefined) invite.maxUses = maxUses
  if (expiresAt !== undefined) invite.expiresAt = expiresAt === null ? null : new Date(expiresAt)
}

type Patch = Target & { change: z.infer<typeof patchInviteBody> }

/** A past expiresAt ends the invite. Throws invite_unknown, invite_revoked, max_uses_too_low. Contract: 4, PATCH. */
export async function patchInvite(deps: ChangeDeps, { change, ...target }: Patch): Promise<InviteReply> {
  return await changeInvite(deps, target, (invite) => {
    if (invite.revokedAt) throw refuse.invite_revoked()
    if (Object.keys(change).length === 0) return null
    if (change.maxUses != null && change.maxUses < invite.usedCount) throw refuse.max_uses_too_low()
    if (change.name !== undefined) invite.name = change.name
    changeLimits(invite, change)
    return { event: inviteChanged, action: 'invite.changed', detail: change }
  })
}

/** Throws invite_unknown, invite_already_revoked. Spec: Invite status; Contract: 4, revoke. */
export async function revokeInvite(deps: ChangeDeps, target: Target): Promise<InviteReply> {
  return await changeInvite(deps, target, revocation(deps))
}

type OwnTarget = Omit<Target, 'actor'> & { caller: ActingMember }

/** Those of others are unknown. Throws as `revokeInvite` does. Contract: 4, Invites of members. */
export async function revokeOwnInvite(deps: ChangeDeps, { caller, ...target }: OwnTarget): Promise<InviteReply> {
  const where = { createdBy: caller.userId, byMember: true }
  const revoked = await transaction(deps.orm, async (em) => {
    await assertCallerCurrent(em, caller)
    return await changeLocked(deps, em, { ...target, actor: caller, where, change: revocation(deps) })
  })
  deps.relay.notify()
  return revoked
}

function revocation({ clock }: Pick<ChangeDeps, 'clock'>) {
  return (invite: Invite): Change => {
    if (invite.revokedAt) throw refuse.invite_already_revoked()
    invite.revokedAt = new Date(clock.now())
    return { event: inviteRevoked, action: 'invite.revoked', detail: { name: invite.name } }
  }
}

/** The redemptions go too, the accounts stay. Throws invite_unknown. Spec: Invite redemption, inviteId; Contract: 4, redemptions. */
export async function deleteInvite(deps: ChangeDeps, target: Target): Promise<void> {
  await changeInvite(deps, target, (invite, em) => {
    em.remove(invite)
    const detail = { name: invite.name, usedCount: invite.usedCount }
    return { event: inviteDeleted, action: 'invite.deleted', detail }
  })
}

/**
 * A revoked invite gets a fresh token: its link stays unusable. Throws invite_unknown, invite_active, invite_still_ended,
 * no_free_token. Spec: Invite status; Contract: 4, reinstate.
 */
export async function reinstateInvite(deps: ChangeDeps, { change, ...target }: Target & { change: Limits }) {
  return await withFreshToken(deps, async (freshToken) => {
    let tokenRotated = false
    const invite = await changeInvite(deps, target, (ended) => {
      const now = deps.clock.now()
      const endedBy = deriveInviteStatus(ended, now)
      if (endedBy === 'active') throw refuse.invite_active()
      tokenRotated = endedBy === 'revoked'
      changeLimits(ended, change)
      ended.revokedAt = null
      if (tokenRotated) ended.token = freshToken
      if (deriveInviteStatus(ended, now) !== 'active') throw refuse.invite_still_ended()
      const detail = { name: ended.name, endedBy, ...change, tokenRotated }
      return { event: inviteReinstated, facts: { tokenRotated }, action: 'invite.reinstated', detail }
    })
    return { invite, tokenRotated }
  })
}

/** An attempt is a transaction of its own. Throws no_free_token. Spec: Invite link, token. */
export async function withFreshToken<T>(
  { random }: { random: Pick<Random, 'bytes'> },
  attempt: (token: string) => Promise<T>,
): Promise<T> {
  for (let retriesLeft: number = policy.tokenRetries; ; retriesLeft -= 1) {
    try {
      return await attempt(randomToken(random, policy.tokenBytes))
    } catch (error) {
      if (!violates(error, 'invites_token_unique')) throw error
      if (retriesLeft === 0) throw refuse.no_free_token({ cause: error, headers: { 'Retry-After': '1' } })
    }
  }
}
