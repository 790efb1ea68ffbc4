import type { ActingCaller } from '@gatehouse/authority'
import { identityChanged, limits } from '@gatehouse/contracts'
import { LinkedIdentity, type User } from '@gatehouse/domain'
import { enqueue } from '@gatehouse/outbox'
import { refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import { enqueueNotice } from '../../mail/outbox.ts'
import { findTicket, identityOf, useTicket } from '../../providers/tickets.ts'
import { identityReply } from '../../queries/list-identities.ts'
import { identityConstraint, insertIdentity } from '../accounts/insert-identity.ts'
import { requireWayIn } from '../accounts/ways-in.ts'
import { refuseViolation, writeAuditEntry } from '../change-account.ts'
import { changeConfirmed, type Confirmed } from '../credentials/verify-password.ts'
import type { FinishDeps } from './finish-sign-in.ts'
import { requireProviderUser } from './start-sign-in.ts'

/** `confirm`: a ticket of an identity that is linked already, in place of the password. */
type Link = Omit<Confirmed, 'ticket'> & { ticket: unknown; confirm?: unknown }

/**
 * Links what the caller signed in with. Throws ticket_refused, providers_local_only, identity_held, identity_limit,
 * registration_pending, and as `verifyOwnPassword`; what is refused uses no ticket up. Contract: 3, Identity providers.
 */
export async function linkIdentity(deps: FinishDeps, { ticket: ticketText, confirm, ...act }: Link) {
  const ticket = await findTicket(deps, deps.orm.em.fork(), { ticket: ticketText, purpose: 'link' })
  if (ticket?.userId !== act.caller.userId) throw refuse.ticket_refused()
  const { issuer, subject, provider } = ticket
  const confirmed = { ...act, ticket: confirm, judge: requireProviderUser }
  const linking = changeConfirmed(deps, confirmed, async (user, em) => {
    if (!(await useTicket(em, ticket))) throw refuse.ticket_refused()
    const existing = await em.findOne(LinkedIdentity, { issuer, subject })
    if (existing && existing.userId !== user.id) throw refuse.identity_held()
    if (existing) return existing
    const count = await em.count(LinkedIdentity, { userId: user.id })
    if (count >= limits.linkedIdentitiesMax) throw refuse.identity_limit()
    const at = await deps.databaseTime(em)
    const identity = await insertIdentity(deps, em, {
      identity: identityOf(ticket),
      user,
      at: new Date(at),
      lastUsedAt: null,
    })
    await announce(deps, em, { user, at, provider, change: 'linked', requestId: act.requestId })
    return identity
  })
  const identity = await refuseViolation(linking, identityConstraint, refuse.identity_held)
  deps.afterCommit.publishEvents()
  return { success: true as const, identity: identityReply(identity) }
}

type Unlink = Confirmed & { caller: ActingCaller; id: string }

/** Throws linked_identity_unknown, last_sign_in_method, and as `verifyOwnPassword`. Contract: 3, Identity providers. */
export async function unlinkIdentity(deps: FinishDeps, { id, ...confirmation }: Unlink): Promise<void> {
  await changeConfirmed(deps, confirmation, async (user, em) => {
    const identity = await em.findOne(LinkedIdentity, { id, userId: user.id })
    if (!identity) throw refuse.linked_identity_unknown()
    await em.remove(identity).flush()
    await requireWayIn(deps, em, user)
    const at = await deps.databaseTime(em)
    const { provider } = identity
    await announce(deps, em, { user, at, provider, change: 'unlinked', requestId: confirmation.requestId })
  })
  deps.afterCommit.publishEvents()
}

type Change = { user: User; at: number; provider: string; change: 'linked' | 'unlinked'; requestId: string | undefined }

async function announce({ random }: FinishDeps, em: EntityManager, { user, at, requestId, ...changed }: Change) {
  const { provider, change } = changed
  writeAuditEntry(em, { action: `user.identity-${change}`, user, at, detail: { provider } })
  await enqueueNotice(em, { user, kind: `identity_${change}`, at, data: { provider } })
  await enqueue(em, identityChanged, { userId: user.id, at, ...changed }, { id: random.uuid(), requestId })
}
