import { type ActingAdmin, assertCurrent } from '@gatehouse/authority'
import { inviteCreated, limits } from '@gatehouse/contracts'
import type { createInviteBody, createOwnInviteBody, InviteReply } from '@gatehouse/contracts'
import { nextId, read, transaction } from '@gatehouse/database'
import { Invite, type User } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { ActingMember, ChangeDeps } from '../deps.ts'
import { inviteReply } from '../replies/invite-reply.ts'
import { readQuota } from '../replies/member-quota.ts'
import { actAsAdmin, recordInviteChange, withFreshToken } from './change-invite.ts'

type Requested = { requestId?: string | undefined }
type Input = z.infer<typeof createInviteBody> & Requested & { actor: ActingAdmin }

/** Throws expiry_past, no_free_token. Contract: 4, input. */
export async function createInvite(deps: ChangeDeps, input: Input): Promise<InviteReply> {
  requireFuture(deps, input)
  const created = await withFreshToken(deps, (token) =>
    actAsAdmin(deps, input.actor, (em) => insertInvite(deps, em, { ...input, token, byMember: false })),
  )
  deps.relay.notify()
  return created
}

type OwnInput = z.infer<typeof createOwnInviteBody> & Requested & { caller: ActingMember }

/**
 * The account is locked, so that any number of requests at once stay within the quota. Throws expiry_past, expiry_too_late,
 * native_account_required, member_invites_off, member_invites_spent, no_free_token. Contract: 4, Invites of members.
 */
export async function createOwnInvite(deps: ChangeDeps, { caller, ...input }: OwnInput): Promise<InviteReply> {
  requireFuture(deps, input)
  const latest = deps.clock.now() + limits.memberInviteLifeMs
  const expiresAt = input.expiresAt ?? latest
  if (expiresAt > latest) throw refuse.expiry_too_late()
  const create = (token: string) => async (em: EntityManager) => {
    await lockMember(em, caller)
    const { allowed, made } = await readQuota(deps, em, caller.userId)
    if (allowed === 0) throw refuse.member_invites_off()
    if (made >= allowed) throw refuse.member_invites_spent()
    return await insertInvite(deps, em, { ...input, expiresAt, token, actor: caller, byMember: true })
  }
  const of = { accountId: caller.userId }
  const created = await withFreshToken(deps, (token) => transaction(deps.orm, create(token), of))
  deps.relay.notify()
  return created
}

function requireFuture({ clock }: Pick<ChangeDeps, 'clock'>, { expiresAt }: { expiresAt: number | null }): void {
  if (expiresAt !== null && expiresAt <= clock.now()) throw refuse.expiry_past()
}

async function lockMember(em: EntityManager, caller: ActingMember): Promise<void> {
  type Row = Pick<User, 'isDeleted' | 'isAdmin'> & { passwordChangedAt: number | null; homeInstance: string | null }
  const sql = `select is_deleted as "isDeleted", is_admin as "isAdmin", home_instance as "homeInstance",
    password_changed_at::float8 as "passwordChangedAt" from users where id = ? for no key update`
  const [member] = await read<Row>(em, sql, [caller.userId])
  assertCurrent(member, caller)
  if (member.homeInstance !== null) throw refuse.native_account_required()
}

type NewInvite = Pick<Input, 'name' | 'maxUses' | 'expiresAt' | 'actor' | 'requestId'> & {
  token: string
  byMember: boolean
}

async function insertInvite(deps: ChangeDeps, em: EntityManager, given: NewInvite): Promise<InviteReply> {
  const { actor, name, maxUses, expiresAt, requestId, token, byMember } = given
  const times = { expiresAt: expiresAt === null ? null : new Date(expiresAt), createdAt: new Date(deps.clock.now()) }
  const id = await nextId(em)
  const invite = em.create(Invite, { id, token, name, maxUses, createdBy: actor.userId, byMember, ...times })
  em.persist(invite)
  const detail = { name, maxUses, expiresAt }
  const record = { event: inviteCreated, action: 'invite.created' as const, detail, invite, actor, requestId }
  await recordInviteChange(em, deps, record)
  await em.flush()
  return await inviteReply(deps, em, invite)
}
