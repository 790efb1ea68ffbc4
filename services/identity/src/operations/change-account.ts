import { type ActingAdmin, type ActingCaller, assertCallerCurrent, assertCurrent } from '@gatehouse/authority'
import { profileChanged } from '@gatehouse/contracts'
import type { AccountState, AuditAction, EventDefinition, accountEvents } from '@gatehouse/contracts'
import { recordAudit, transaction, violates } from '@gatehouse/database'
import { User, accountStateOf, sanitizeUser } from '@gatehouse/domain'
import type { Actor } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import type { Refusal } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../deps.ts'
import { lockLocalAdmins, lockUser, requireLive } from '../queries/load-user.ts'

/** On the own account. */
export type OwnAct = { caller: ActingCaller; requestId?: string | undefined }

/** Of an admin on an account. */
export type AdminAct = { userId: string; actor: ActingAdmin; requestId?: string | undefined }

type Change<U, T> = (user: U, em: EntityManager) => Promise<T>

/** Runs a change in a transaction that has locked the account. Null: there is none. */
export async function changeUser<T>({ orm }: Pick<Deps, 'orm'>, userId: string, change: Change<User | null, T>) {
  return await transaction(orm, async (em) => await change(await lockUser(em, userId), em), { accountId: userId })
}

/** Judges the caller again under the lock. Throws account_deleted, token_revoked. Design: invariant 1. */
export async function changeSelf<T>(deps: Pick<Deps, 'orm'>, caller: ActingCaller, change: Change<User, T>) {
  return await changeUser(deps, caller.userId, async (user, em) => {
    assertCurrent(user, caller)
    return await change(user, em)
  })
}

/** An admin changes an account. Throws user_unknown, target_deleted, and as `assertCallerCurrent` does. */
export async function changeOther<T>({ orm }: Pick<Deps, 'orm'>, act: AdminAct, change: Change<User, T>) {
  const work = async (em: EntityManager) => await change(await lockOther(em, act), em)
  return await transaction(orm, work, { accountId: act.userId })
}

/** In the order of ids: two admins who act on each other do not deadlock. Acts of one admin on others do not wait. */
async function lockOther(em: EntityManager, { userId, actor }: AdminAct): Promise<User> {
  const isActorFirst = actor.userId !== null && BigInt(actor.userId) < BigInt(userId)
  if (isActorFirst) await assertCallerCurrent(em, actor, { admin: true })
  const user = await lockUser(em, userId)
  if (!isActorFirst) await assertCallerCurrent(em, actor, { admin: true })
  return requireLive(user)
}

type Refuse = (extra: { cause: unknown }) => Refusal

/** A unique constraint decides between racers. */
export async function refuseViolation<T>(work: Promise<T>, constraint: string, refuse: Refuse): Promise<T> {
  return await work.catch((error: unknown) => {
    if (violates(error, constraint)) throw refuse({ cause: error })
    throw error
  })
}

/** Without a state nothing changed. */
export type Changed = { user: User; state?: AccountState }

type ChangeAmongAdmins = (user: User, em: EntityManager, others: { isLastAdmin: boolean }) => Promise<Changed>

/** As `changeOther`, with all admins locked where it is one: acts on each other wait. `isLastAdmin`: no other local one is left. */
export async function changeAmongAdmins(deps: OperationContext, act: AdminAct, change: ChangeAmongAdmins) {
  const { userId } = act
  const work = async (em: EntityManager) => {
    const stored = await em.findOne(User, { id: userId })
    if (stored?.isAdmin) await lockLocalAdmins(em)
    const user = await lockOther(em, act)
    const admins = user.isAdmin ? await lockLocalAdmins(em) : []
    return await change(user, em, { isLastAdmin: user.isAdmin && !admins.some(({ id }) => id !== userId) })
  }
  return await invalidateIfChanged(deps, await transaction(deps.orm, work, { accountId: userId }))
}

/** Call it after the commit. */
export async function invalidateIfChanged({ afterCommit }: OperationContext, { user, state }: Changed): Promise<User> {
  if (state) await afterCommit.invalidateCache(state)
  return user
}

export const actorOf = ({ id, username }: User): Actor => ({ userId: id, username })

type Act = { action: AuditAction; user: User; actor?: Actor; at: number; detail?: Record<string, unknown> }

/** Writes an entry of the audit log. Without `actor`, the account itself is the actor. Contract: 5, Audit. */
export function writeAuditEntry(em: EntityManager, { user, actor = actorOf(user), at, ...act }: Act): void {
  recordAudit(em, { ...act, actor, target: { type: 'user', id: user.id, name: user.username }, at: new Date(at) })
}

type AccountEvent = (typeof accountEvents)[number]
export type Cause = { user: User; requestId?: string | undefined }
type Facts<E extends AccountEvent> = Omit<z.input<E['payload']>, 'userId' | 'state'> & Cause

/** Writes a changed account and its event in one transaction. Returns the new state. Design: invariants 1 and 2. */
export async function recordAccountEvent<E extends AccountEvent>(
  em: EntityManager,
  { random }: OperationContext,
  event: E,
  facts: Facts<E>,
): Promise<AccountState> {
  const { user, requestId, ...others } = facts as Cause
  const definition: EventDefinition = event
  await em.flush()
  const state = accountStateOf(user)
  await enqueue(em, definition, { ...others, userId: user.id, state }, { id: random.uuid(), requestId })
  return state
}

type ProfileChange = Cause & { changed: string[] }

/** `changed` names the fields. */
export async function recordProfileChange(em: EntityManager, deps: OperationContext, change: ProfileChange) {
  const { user } = change
  const facts = { at: deps.clock.now(), profileUpdatedAt: user.profileUpdatedAt, profile: sanitizeUser(user, false) }
  return await recordAccountEvent(em, deps, profileChanged, { ...change, ...facts })
}
