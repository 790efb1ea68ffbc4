import { type ActingAdmin, assertCallerCurrent } from '@gatehouse/authority'
import type { RegistrationDecision } from '@gatehouse/contracts'
import { DatabaseUnavailable, loadInstanceSettings, recordAudit, transaction } from '@gatehouse/database'
import { BlockedNetwork, noPasswordHash } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../../deps.ts'
import { policy } from '../../policy.ts'
import type { Waiting } from '../../queries/is-waiting.ts'
import { insertAccount, insertUniquely, pickAvatarColor } from '../accounts/insert-account.ts'
import { identityConstraint, insertIdentity } from '../accounts/insert-identity.ts'
import { blockNetwork, lockWaiting, release } from '../accounts/waiting.ts'
import { refuseViolation, writeAuditEntry } from '../change-account.ts'
import { announce } from './hold-registration.ts'

export type RegistrationAct = { id: string; actor: ActingAdmin; requestId?: string | undefined }
type Denial = { reason?: string | null | undefined; block?: boolean | undefined }

/** Creates the account as its registration would have. Nobody gets a token: the person logs in. Contract: 3, Approval. */
export async function approveRegistration(deps: OperationContext, { id, actor, requestId }: RegistrationAct) {
  const approving = insertUniquely(deps, async (em) => {
    await assertCallerCurrent(em, actor, { admin: true })
    const registration = await lockWaiting(deps, em, id)
    if (registration.deniedAt) throw refuse.registration_decided()
    const user = await makeAccount(deps, em, { registration, requestId })
    const at = user.createdAt.getTime()
    writeAuditEntry(em, { action: 'registration.approved', user, actor, at })
    await announce(deps, em, { registrationId: id, at, actor, change: 'approved', requestId })
  })
  await refuseViolation(approving, identityConstraint, refuse.identity_held)
  deps.afterCommit.publishEvents()
}

type Making = { registration: Waiting; requestId: string | undefined }

async function makeAccount(deps: OperationContext, em: EntityManager, { registration, requestId }: Making) {
  const { username, passwordHash, displayName = null, avatarColor } = registration
  const { provider, issuer, subject, identityName: name = null } = registration
  const account = {
    username,
    displayName,
    avatarColor: pickAvatarColor(deps, avatarColor),
    home: null,
    requestId,
    passwordHash: passwordHash ?? noPasswordHash,
    hasPassword: passwordHash != null,
  }
  // Free for the account alone: the lock of the name stays.
  release(registration)
  await em.flush()
  const user = await insertAccount(deps, em, account)
  if (provider != null && issuer != null && subject != null) {
    const identity = { provider, issuer, subject, name }
    await insertIdentity(deps, em, { identity, user, at: user.createdAt, lastUsedAt: null })
  }
  registration.userId = user.id
  return user
}

/** For a minute it can be restored, and until then its name is held. Contract: 3, Approval. */
export async function denyRegistration(deps: OperationContext, { reason, block, ...act }: RegistrationAct & Denial) {
  const detail = { ...(reason && { reason }), ...(block && { block }) }
  const deniedAt = await change(deps, { ...act, detail, to: 'denied' }, async (em, registration, now) => {
    if (registration.deniedAt) throw refuse.registration_decided()
    registration.deniedAt = new Date(now)
    const { denialBlockHours: hours } = await loadInstanceSettings(em)
    const { network } = registration
    if (block && network && hours > 0) await blockNetwork(em, registration.id, { network, hours, now })
  })
  return { success: true as const, restorableUntil: deniedAt + policy.denialUndoMs }
}

/** With the block of its network. Contract: 3, Approval. */
export async function restoreRegistration(deps: OperationContext, act: RegistrationAct): Promise<void> {
  await change(deps, { ...act, detail: {}, to: 'restored' }, async (em, registration) => {
    if (!registration.deniedAt) throw refuse.registration_decided()
    registration.deniedAt = null
    await em.nativeDelete(BlockedNetwork, { registrationId: registration.id })
  })
}

type Entered = RegistrationAct & { detail: Record<string, unknown>; to: 'denied' | 'restored' }

/** Whose registration it was is written nowhere. Gives the time of the change. */
async function change(
  deps: OperationContext,
  { id, actor, requestId, detail, to }: Entered,
  work: (em: EntityManager, registration: Waiting, now: number) => Promise<void>,
): Promise<number> {
  const changedAt = await transaction(deps.orm, async (em) => {
    await assertCallerCurrent(em, actor, { admin: true })
    const registration = await lockWaiting(deps, em, id)
    const at = await deps.databaseTime(em)
    await work(em, registration, at)
    const target = { type: 'registration', id } as const
    recordAudit(em, { action: `registration.${to}`, actor, target, detail, at: new Date(at) })
    await announce(deps, em, { registrationId: id, at, actor, change: to, requestId })
    return at
  })
  deps.afterCommit.publishEvents()
  return changedAt
}

type Decisions = Omit<RegistrationAct, 'id'> & Denial & { ids: readonly string[]; decision: RegistrationDecision }

const decisions = { approve: approveRegistration, deny: denyRegistration, restore: restoreRegistration }
const missable = ['registration_unknown', 'registration_decided', 'username_taken', 'identity_held']

/**
 * Each in a transaction of its own: what another admin decided meanwhile stands in no other's way. Where PostgreSQL goes away in
 * between, the rest is missed: 503 would hide what is decided. Contract: 3, Approval.
 */
export async function decideRegistrations(deps: OperationContext, { ids, decision, ...act }: Decisions) {
  const decided: string[] = []
  const missed: { id: string; code: string }[] = []
  const waiting = new Set(ids)
  for (const id of waiting) {
    try {
      await decisions[decision](deps, { ...act, id })
      decided.push(id)
    } catch (error) {
      if (error instanceof DatabaseUnavailable && decided.length > 0) break
      if (!isRefusal(error) || !missable.includes(error.code)) throw error
      missed.push({ id, code: error.code })
    }
    waiting.delete(id)
  }
  return { decided, missed: [...missed, ...[...waiting].map((id) => ({ id, code: 'unavailable' }))] }
}
