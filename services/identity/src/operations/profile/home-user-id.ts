import { baseUsername, lookUpByHomeId } from '@gatehouse/contracts'
import { User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { policy } from '../../policy.ts'

type NewIdentity = { userId: string; homeUserId: string; requestId?: string | undefined }
type Identity = { homeInstance: string; homeUserId: string }

/**
 * An active peer must confirm that the id belongs to the base name. Throws account_deleted, identity_is_local,
 * identity_fixed, identity_unconfirmed, identity_held. Contract: 3, PATCH.
 */
export async function checkNewIdentity(
  { orm, bus }: OperationContext & Pick<Deps, 'bus'>,
  { userId, homeUserId, requestId }: NewIdentity,
): Promise<void> {
  const em = orm.em.fork()
  const user = await em.findOne(User, { id: userId, isDeleted: false })
  if (!user) throw refuse.account_deleted()
  const identity = requireOwnIdentity(user, homeUserId)
  if (user.homeUserId === homeUserId) return
  await refuseHeldIdentity(em, identity, userId)
  const options = { requestId, timeoutMs: policy.lookupCallTimeoutMs }
  const asked = await bus.request(lookUpByHomeId, { host: identity.homeInstance, homeUserId }, options)
  if (asked.outcome === 'no_peer') return
  const confirmed = asked.outcome === 'found' ? baseUsername(asked.username ?? '').toLowerCase() : undefined
  if (confirmed !== baseUsername(user.username)) throw refuse.identity_unconfirmed()
}

/** Throws identity_is_local, identity_fixed. */
export function requireOwnIdentity(user: User, homeUserId: string): Identity {
  const { homeInstance } = user
  if (!homeInstance) throw refuse.identity_is_local()
  if (user.homeUserId && user.homeUserId !== homeUserId) throw refuse.identity_fixed()
  return { homeInstance, homeUserId }
}

/** The unique index decides between racers. Throws identity_held. */
export async function refuseHeldIdentity(em: EntityManager, identity: Identity, exceptId: string): Promise<void> {
  const holder = await em.findOne(User, { ...identity, isDeleted: false, id: { $ne: exceptId } }, { fields: ['id'] })
  if (holder) throw refuse.identity_held()
}
