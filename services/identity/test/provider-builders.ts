import { nextId } from '@gatehouse/database'
import { LinkedIdentity, ProviderTicket, noPasswordHash, type User } from '@gatehouse/domain'
import { issueTicket } from '../src/providers/tickets.ts'
import { buildUser } from './builders.ts'
import type { TestIdentity } from './harness.ts'

type Where = Pick<TestIdentity, 'deps'>

export const issuer = 'https://login.example'
let built = 0

/** An identity of the provider `login`, which the account has. */
export async function linkIdentity({ deps }: Where, user: User, overrides: Partial<LinkedIdentity> = {}) {
  built += 1
  const em = deps.orm.em.fork()
  const linkedAt = new Date(deps.clock.now())
  const id = await nextId(em)
  const identity = {
    id,
    userId: user.id,
    provider: 'login',
    issuer,
    subject: `subject ${built}`,
    name: 'Ada L.',
    linkedAt,
  }
  await em.insert(LinkedIdentity, { ...identity, ...overrides })
  return await em.findOneOrFail(LinkedIdentity, { id })
}

/** A local account that registered with an identity of a provider: it has no password. */
export async function buildPasswordless(identity: Where) {
  const user = await buildUser(identity, { passwordHash: noPasswordHash, hasPassword: false })
  return { user, linked: await linkIdentity(identity, user) }
}

/** A ticket with which the person of the identity has just signed in to confirm an act, unless told otherwise. */
export async function buildTicket(
  { deps }: Where,
  { userId, provider, issuer, subject }: Pick<ProviderTicket, 'userId' | 'provider' | 'issuer' | 'subject'>,
  overrides: Partial<Omit<ProviderTicket, 'hash' | 'expiresAt'>> = {},
): Promise<string> {
  const claims = { username: null, displayName: null, name: null }
  const signedIn = { userId, provider, issuer, subject, claims, authTime: new Date(deps.clock.now()) }
  return await issueTicket(deps, deps.orm.em.fork(), { ...signedIn, purpose: 'confirm', ...overrides })
}

export const countTickets = async ({ deps }: Where, where: Partial<Pick<ProviderTicket, 'subject' | 'userId'>> = {}) =>
  await deps.orm.em.fork().count(ProviderTicket, where)
