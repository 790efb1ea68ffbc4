import { lockName } from '@gatehouse/database'
import { BlockedNetwork, Registration } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import { LockMode, type EntityManager, type FilterQuery } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { boundsAt, isWaiting, type Waiting } from '../../queries/is-waiting.ts'

type Clocked = Pick<Deps, 'databaseTime'>

export async function findWaiting(
  { databaseTime }: Clocked,
  em: EntityManager,
  where: FilterQuery<Registration>,
): Promise<Waiting | null> {
  const registration = await em.findOne(Registration, where)
  return registration && isWaiting(registration, await databaseTime(em)) ? registration : null
}

/**
 * Until the transaction ends nobody else gets this username of this instance, for an account or to wait with. Take it before
 * any other lock of a registration. Throws username_taken where a registration waits with it.
 */
export async function claimName(deps: Clocked, em: EntityManager, username: string): Promise<void> {
  await lockName(em, `username ${username}`)
  if (await findWaiting(deps, em, { username })) throw refuse.username_taken()
}

type Identity = { issuer: string; subject: string }

/** As `claimName`, for the identity of a provider. Throws registration_pending. */
export async function claimIdentity(deps: Clocked, em: EntityManager, { issuer, subject }: Identity): Promise<void> {
  await lockName(em, `identity ${issuer} ${subject}`)
  if (await findWaiting(deps, em, { issuer, subject })) throw refuse.registration_pending()
}

/**
 * Locks a registration that no admin has approved. Its name is locked first, as everybody does who wants it. Throws
 * registration_unknown, registration_decided.
 */
export async function lockWaiting({ databaseTime }: Clocked, em: EntityManager, id: string): Promise<Waiting> {
  const stored = await em.findOne(Registration, { id })
  if (stored?.username != null) await lockName(em, `username ${stored.username}`)
  const registration = await em.findOne(Registration, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true })
  if (!registration) throw refuse.registration_unknown()
  if (registration.username == null) throw refuse.registration_decided()
  if (!isWaiting(registration, await databaseTime(em))) throw refuse.registration_unknown()
  return registration
}

/** What has ended no longer holds its name and identity before it is swept. Call it under the lock of the name. */
export async function removeEnded(
  em: EntityManager,
  { username, issuer, subject, now }: { username: string; now: number } & Partial<Identity>,
): Promise<void> {
  const { created, denied } = boundsAt(now)
  const isIdentity = issuer !== undefined && subject !== undefined
  const held = isIdentity ? { $or: [{ username }, { issuer, subject }] } : { username }
  const ended = { $or: [{ createdAt: { $lte: created } }, { deniedAt: { $lte: denied } }] }
  await em.nativeDelete(Registration, { $and: [held, ended] })
}

/** Throws registration_blocked. `network`: as `clientNetwork` returns it. Contract: 3, Approval. */
export async function refuseBlocked(deps: Clocked, em: EntityManager, network: string): Promise<void> {
  const where = { network, until: { $gt: new Date(await deps.databaseTime(em)) } }
  if (await em.findOne(BlockedNetwork, where, { fields: ['network'] })) throw refuse.registration_blocked()
}

type Block = { network: string; hours: number; now: number }

export async function blockNetwork(em: EntityManager, id: string, { network, hours, now }: Block): Promise<void> {
  await em.insert(BlockedNetwork, { registrationId: id, network, until: new Date(now + hours * 60 * 60 * 1_000) })
}

/** Nothing of it is kept but its receipt. */
export function release(registration: Registration): void {
  Object.assign(registration, {
    username: null,
    passwordHash: null,
    displayName: null,
    avatarColor: null,
    reason: null,
    network: null,
    client: null,
    provider: null,
    issuer: null,
    subject: null,
    identityName: null,
  })
}
