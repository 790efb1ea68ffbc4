import { enqueue } from '@gatehouse/bus'
import type { AuditAction, EventDefinition } from '@gatehouse/contracts'
import { transaction } from '@gatehouse/database'
import { Invite, assertCallerCurrent, recordAudit, type ActingAdmin } from '@gatehouse/domain'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { ChangeDeps } from '../deps.ts'
import { refuse } from '@gatehouse/runtime'

/** Throws as `assertCallerCurrent` does. Design: invariant 1. */
export async function actAsAdmin<T>(
  { orm }: Pick<ChangeDeps, 'orm'>,
  admin: ActingAdmin,
  act: (em: EntityManager) => Promise<T>,
): Promise<T> {
  return await transaction(orm, async (em) => {
    await assertCallerCurrent(em, admin, { admin: true })
    return await act(em)
  })
}

export type Target = { id: string; admin: ActingAdmin; requestId?: string | undefined }

type Recorded = Omit<Change<z.ZodType>, 'invite' | 'admin' | 'requestId'>

/** Locks the invite against other admins and redemptions. Null: nothing has changed. Throws invite_unknown. */
export async function changeInvite(
  deps: ChangeDeps,
  { id, admin, requestId }: Target,
  change: (invite: Invite, em: EntityManager) => Recorded | null,
): Promise<Invite> {
  const changed = await actAsAdmin(deps, admin, async (em) => {
    const invite = await em.findOne(Invite, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (!invite) throw refuse.invite_unknown()
    const record = change(invite, em)
    if (record) await recordInviteChange(em, deps, { ...record, invite, admin, requestId })
    return invite
  })
  deps.relay.notify()
  return changed
}

export type Limits = { maxUses?: number | null | undefined; expiresAt?: number | null | undefined }

/** Null lifts a limit. `expiresAt` in milliseconds. Contract: 4. */
export function changeLimits(invite: Invite, { maxUses, expiresAt }: Limits): void {
  if (maxUses !== undefined) invite.maxUses = maxUses
  if (expiresAt !== undefined) invite.expiresAt = expiresAt === null ? null : new Date(expiresAt)
}

type Change<P extends z.ZodType> = {
  event: EventDefinition<P>
  facts?: Record<string, unknown>
  action: AuditAction
  detail: Record<string, unknown>
  invite: Invite
  admin: ActingAdmin
  requestId: string | undefined
}

/** Contract: 5; Design: invariant 2. */
export async function recordInviteChange<P extends z.ZodType>(
  em: EntityManager,
  { clock, random }: Pick<ChangeDeps, 'clock' | 'random'>,
  { event, facts, action, detail, invite, admin, requestId }: Change<P>,
): Promise<void> {
  const at = clock.now()
  const actor = { userId: admin.userId, username: admin.username }
  recordAudit(em, { action, actor, target: { type: 'invite', id: invite.id }, detail, at: new Date(at) })
  const payload = { inviteId: invite.id, name: invite.name, at, actor, ...facts } as z.input<P>
  await enqueue(em, event, payload, { id: random.uuid(), requestId })
}
