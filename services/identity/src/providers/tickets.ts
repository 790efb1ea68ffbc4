import type { ProviderPurpose } from '@gatehouse/contracts'
import { LinkedIdentity, ProviderTicket, type User } from '@gatehouse/domain'
import { randomToken, refuse } from '@gatehouse/runtime'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { OperationContext } from '../deps.ts'
import { hashSecret } from '../hashing/hash-secret.ts'
import { policy } from '../policy.ts'

type TicketDeps = Pick<OperationContext, 'databaseTime' | 'random'>

/** A sign-in at a provider, for two minutes, once, on any replica. Contract: 3, Identity providers. */
export async function issueTicket(
  deps: TicketDeps,
  em: EntityManager,
  signedIn: Omit<ProviderTicket, 'hash' | 'expiresAt'>,
): Promise<string> {
  const ticket = randomToken(deps.random, policy.providerSecretBytes)
  const expiresAt = new Date((await deps.databaseTime(em)) + policy.providerTicketMs)
  await em.insert(ProviderTicket, { ...signedIn, hash: hashSecret(ticket), expiresAt })
  return ticket
}

type TicketInput = { ticket: unknown; purpose: ProviderPurpose }

/** Null for one that is unknown, used, expired or of another purpose. It stays. */
export async function findTicket(
  { databaseTime }: Pick<TicketDeps, 'databaseTime'>,
  em: EntityManager,
  input: TicketInput,
) {
  if (typeof input.ticket !== 'string') return null
  const { purpose } = input
  const expiresAt = { $gt: new Date(await databaseTime(em)) }
  return await em.findOne(ProviderTicket, { hash: hashSecret(input.ticket), purpose, expiresAt })
}

/** False: another request has used it up. A rollback gives it back. */
export async function useTicket(em: EntityManager, { hash }: ProviderTicket): Promise<boolean> {
  return (await em.nativeDelete(ProviderTicket, { hash })) === 1
}

/** What the person signed in with. */
export const identityOf = ({ provider, issuer, subject, claims }: ProviderTicket) => ({
  provider,
  issuer,
  subject,
  name: claims.name,
})

type Confirmation = { user: User; ticket: unknown }

/** A sign-in that stands for the account's password. It stays. Throws ticket_refused, fresh_sign_in_required. Contract: 3, Identity providers. */
export async function requireConfirmation(
  deps: Pick<TicketDeps, 'databaseTime'>,
  em: EntityManager,
  { user, ticket: ticketText }: Confirmation,
): Promise<ProviderTicket> {
  const ticket = await findTicket(deps, em, { ticket: ticketText, purpose: 'confirm' })
  if (ticket?.userId !== user.id) throw refuse.ticket_refused()
  const { issuer, subject, authTime } = ticket
  const isLinked = (await em.count(LinkedIdentity, { issuer, subject, userId: user.id })) > 0
  const earliest = (await deps.databaseTime(em)) - policy.freshSignInMs
  if (!isLinked || !authTime || authTime.getTime() < earliest) throw refuse.fresh_sign_in_required()
  return ticket
}

/** Uses it up too: call it in the transaction of what it confirms, under the account's lock. Throws as `requireConfirmation`. */
export async function takeConfirmation(...args: Parameters<typeof requireConfirmation>): Promise<void> {
  if (!(await useTicket(args[1], await requireConfirmation(...args)))) throw refuse.ticket_refused()
}
