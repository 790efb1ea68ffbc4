import { isReservedUsername, type finishProviderBody } from '@gatehouse/contracts'
import { transaction, violates } from '@gatehouse/database'
import { LinkedIdentity, User, type ProviderTicket } from '@gatehouse/domain'
import { isRefusal, refuse } from '@gatehouse/runtime'
import type { Provider } from '@gatehouse/service-kit'
import { LockMode, type EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { findTicket, identityOf, useTicket } from '../../providers/tickets.ts'
import { isRegistrationOpen, loadSettings } from '../../queries/load-settings.ts'
import { refuseUnfreeName, type Registered } from '../accounts/insert-account.ts'
import { identityConstraint, insertIdentity } from '../accounts/insert-identity.ts'
import { judgeLoginCode, type FactorDeps } from '../accounts/judge-code.ts'
import { recordSignIn, type Sender } from '../accounts/sign-ins.ts'
import { findWaiting } from '../accounts/waiting.ts'
import type { HeldRegistration } from '../approval/hold-registration.ts'
import { refuseSuspended } from '../credentials/log-in.ts'
import { registerLocal } from '../registration/register-local.ts'
import type { SignInDeps } from './start-sign-in.ts'

export type FinishDeps = SignInDeps & FactorDeps & Pick<Deps, 'hasher' | 'proofKeys'>
export type Finish = z.infer<typeof finishProviderBody> & Sender

/**
 * Logs in the account with the identity of a ticket, or registers one. Throws ticket_invalid, provider_unknown,
 * registration_pending, and as `logIn` and `registerLocal`. Contract: 3, Identity providers.
 */
export async function finishSignIn(deps: FinishDeps, input: Finish): Promise<Registered | HeldRegistration> {
  const em = deps.orm.em.fork()
  const ticket = await findTicket(deps, em, { ticket: input.ticket, purpose: 'login' })
  if (!ticket) throw refuse.ticket_invalid()
  const provider = deps.providers.require(ticket.provider)
  if (provider.issuer !== ticket.issuer) throw refuse.ticket_invalid()
  const { issuer, subject } = ticket
  const linkedIdentity = await em.findOne(LinkedIdentity, { issuer, subject })
  if (linkedIdentity) return await logInLinked(deps, { ...input, provider, ticket, linkedIdentity })
  if (await findWaiting(deps, em, { issuer, subject })) throw refuse.registration_pending()
  return await register(deps, { ...input, provider, ticket }).catch(async (error: unknown) => {
    // Another tab was first.
    if (violates(error, identityConstraint)) return await finishSignIn(deps, input)
    throw error
  })
}

type Attempt = Omit<Finish, 'ticket'> & { provider: Provider; ticket: ProviderTicket }

/** The lock waits for a change that is not committed yet: no token outlives a change. */
async function logInLinked(
  deps: FinishDeps,
  attempt: Attempt & { linkedIdentity: LinkedIdentity },
): Promise<Registered> {
  const { ticket, linkedIdentity, provider, client, code, requestId } = attempt
  const logIn = async (em: EntityManager) => {
    const user = await em.findOne(User, { id: linkedIdentity.userId }, { lockMode: LockMode.PESSIMISTIC_READ })
    const identity = await em.findOne(LinkedIdentity, { id: linkedIdentity.id, userId: linkedIdentity.userId })
    if (!user || user.isDeleted || !user.isLocal() || !identity) throw refuse.ticket_invalid()
    refuseSuspended(user)
    const refusal = provider.secondFactor === 'ask' && (await judgeLoginCode(deps, em, { user, code, requestId }))
    if (refusal) return { refusal }
    if (!(await useTicket(em, ticket))) throw refuse.ticket_invalid()
    const now = await deps.databaseTime(em)
    identity.lastUsedAt = new Date(now)
    return { user, created: false, issuedAt: await recordSignIn(em, { user, now, method: 'provider', client }) }
  }
  const loggedIn = await transaction(deps.orm, logIn, { accountId: linkedIdentity.userId })
  if (!('refusal' in loggedIn)) return loggedIn
  deps.afterCommit.publishEvents()
  throw loggedIn.refusal
}

/** As everybody registers, but without a password. What is refused uses no ticket up. */
async function register(
  deps: FinishDeps,
  { provider, ticket, username, ...fields }: Attempt,
): Promise<Registered | HeldRegistration> {
  const { registration: gate } = provider
  if (gate === 'never') throw refuse.registration_by_provider_closed()
  if (!username) throw refuse.provider_username_required({ fields: await offerOf(deps, gate, ticket) })
  const { displayName, inviteToken, reason, address, client, requestId } = fields
  const registration = {
    username,
    displayName,
    inviteToken,
    reason,
    address,
    client,
    requestId,
    avatarColor: undefined,
  }
  const identity = identityOf(ticket)
  return await registerLocal(
    deps,
    { ...registration, homeUserId: undefined },
    {
      gate,
      identity,
      claim: async (em) => {
        if (!(await useTicket(em, ticket))) throw refuse.ticket_invalid()
      },
      complete: async (em, user) => {
        await insertIdentity(deps, em, { identity, user, at: user.createdAt, lastUsedAt: user.createdAt })
      },
    },
  )
}

type Gate = Exclude<Provider['registration'], 'never'>

async function offerOf(deps: FinishDeps, gate: Gate, { claims }: ProviderTicket) {
  const settings = await loadSettings(deps.orm.em)
  const { username, displayName } = claims
  const isFree = username !== null && !isReservedUsername(username, settings.reservedUsernames)
  const proposed = isFree && (await isUntaken(deps, username)) ? username : null
  const registrationOpen = gate === 'open' || (gate === 'gate' && isRegistrationOpen(settings, deps.config))
  return {
    code: 'username_required' as const,
    proposal: { username: proposed, displayName },
    gates: { registrationOpen },
  }
}

async function isUntaken(deps: FinishDeps, username: string): Promise<boolean> {
  try {
    await refuseUnfreeName(deps, username)
    return true
  } catch (error) {
    if (isRefusal(error)) return false
    throw error
  }
}
