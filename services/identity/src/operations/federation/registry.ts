import type { registryBody, registryReply } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { FederationRegistry, assertCurrent, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { refuse } from '../../errors.ts'
import { lockUser } from '../../queries/load-user.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'

type StoredRegistry = z.infer<typeof registryReply>
type NewRegistry = z.infer<typeof registryBody> & { caller: ActingCaller }

/** The list that a user's clients keep of the instances they have connected to. federation-wire.md 5. */
export async function readRegistry({ orm }: Pick<OperationContext, 'orm'>, userId: string): Promise<StoredRegistry> {
  const stored = await orm.em.fork().findOne(FederationRegistry, { userId })
  return stored ? { registry: stored.entries, updatedAt: stored.updatedAt } : { registry: [], updatedAt: 0 }
}

/**
 * Replaces the list by a newer one; of two clients that write at once the one with the earlier time is refused. Throws
 * account_deleted, token_revoked, registry_outdated. federation-wire.md 5.
 */
export async function putRegistry(
  { orm }: Pick<OperationContext, 'orm'>,
  { caller, registry, updatedAt }: NewRegistry,
): Promise<number> {
  const put = async (em: EntityManager) => {
    const user = await lockUser(em, caller.userId)
    assertCurrent(user, caller)
    const stored = await em.findOne(FederationRegistry, { userId: user.id })
    if (stored && updatedAt <= stored.updatedAt) throw refuse.registry_outdated()
    await em.upsert(FederationRegistry, { userId: user.id, entries: registry, updatedAt })
  }
  await runTransaction(orm, put, { accountId: caller.userId })
  return updatedAt
}

/** Drops entries of a user who is locked; the clients see by the time that there is a newer list. Contract: 7, fan-out. */
export async function forgetRegistryEntries(
  em: EntityManager,
  { userId, origins, now }: { userId: string; origins: readonly string[]; now: number },
): Promise<void> {
  const stored = await em.findOne(FederationRegistry, { userId })
  if (!stored) return
  const kept = withoutOrigins(stored.entries, origins)
  if (kept.length === stored.entries.length) return
  stored.entries = kept
  stored.updatedAt = Math.max(now, stored.updatedAt + 1)
  await em.flush()
}
