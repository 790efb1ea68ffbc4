import { normalizeOrigin, profileChanged, type registryBody, type registryReply } from '@gatehouse/contracts'
import { runTransaction } from '@gatehouse/database'
import { FederationRegistry, accountStateOf, assertCurrent, type ActingCaller, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { lockUser } from '../../queries/load-user.ts'
import { recordAccountEvent } from '../account-events.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'

type StoredRegistry = z.infer<typeof registryReply>
type NewRegistry = z.infer<typeof registryBody> & { caller: ActingCaller; requestId?: string | undefined }

/** The list that a user's clients keep of the instances they have connected to. federation-wire.md 5. */
export async function readRegistry({ orm }: Pick<OperationContext, 'orm'>, userId: string): Promise<StoredRegistry> {
  const stored = await orm.em.fork().findOne(FederationRegistry, { userId })
  return stored ? { registry: stored.entries, updatedAt: stored.updatedAt } : { registry: [], updatedAt: 0 }
}

/**
 * Replaces the list by a newer one; of two clients that write at once the one with the earlier time is refused. An instance
 * that is newly named is to get the profile. Throws account_deleted, token_revoked, registry_conflict. federation-wire.md 5.
 */
export async function putRegistry(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { caller, registry, updatedAt, requestId }: NewRegistry,
): Promise<number> {
  const put = async (em: EntityManager) => {
    const user = await lockUser(em, caller.userId)
    assertCurrent(user, caller)
    const stored = await em.findOne(FederationRegistry, { userId: user.id })
    if (stored && updatedAt <= stored.updatedAt) throw refuse.registry_conflict()
    const isNewInstance = namesNewInstance(stored?.entries ?? [], registry)
    await em.upsert(FederationRegistry, { userId: user.id, entries: registry, updatedAt })
    if (isNewInstance) await recordNewInstance(deps, em, { user, requestId })
  }
  await runTransaction(deps.orm, put, { accountId: caller.userId })
  deps.afterCommit.publishEvents()
  return updatedAt
}

function namesNewInstance(before: StoredRegistry['registry'], after: StoredRegistry['registry']): boolean {
  const spelling = ({ origin }: { origin: string }) => normalizeOrigin(origin) ?? origin
  const known = new Set(before.map(spelling))
  return after.some((entry) => !known.has(spelling(entry)))
}

type Named = { user: User; requestId: string | undefined }

async function recordNewInstance(deps: OperationContext, em: EntityManager, { user, requestId }: Named): Promise<void> {
  const { profileUpdatedAt } = user
  const facts = { state: accountStateOf(user), at: deps.clock.now(), profileUpdatedAt, changed: ['federationRegistry'] }
  await recordAccountEvent(em, deps, profileChanged, { ...facts, requestId })
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
