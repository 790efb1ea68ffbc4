import { normalizeOrigin, type registryBody, type registryReply } from '@gatehouse/contracts'
import { FederationRegistry, type ActingCaller } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { z } from 'zod'
import type { Deps, OperationContext } from '../../deps.ts'
import { refuse } from '@gatehouse/runtime'
import { changeSelf, recordProfileChange } from '../change-account.ts'
import { withoutOrigins } from '../profile/replicated-instances.ts'

type StoredRegistry = z.infer<typeof registryReply>
type NewRegistry = z.infer<typeof registryBody> & { caller: ActingCaller; requestId?: string | undefined }

/** The clients keep this list. federation-wire.md 5. */
export async function readRegistry({ orm }: Pick<OperationContext, 'orm'>, userId: string): Promise<StoredRegistry> {
  const stored = await orm.em.fork().findOne(FederationRegistry, { userId })
  return stored ? { registry: stored.entries, updatedAt: stored.updatedAt } : { registry: [], updatedAt: 0 }
}

/**
 * An instance that is newly named gets the profile. Throws account_deleted, token_revoked, registry_conflict, for a list
 * that is not newer. federation-wire.md 5.
 */
export async function putRegistry(
  deps: OperationContext & Pick<Deps, 'afterCommit'>,
  { caller, registry, updatedAt, requestId }: NewRegistry,
): Promise<number> {
  await changeSelf(deps, caller, async (user, em) => {
    const stored = await em.findOne(FederationRegistry, { userId: user.id })
    if (stored && updatedAt <= stored.updatedAt) throw refuse.registry_conflict()
    const isNewInstance = namesNewInstance(stored?.entries ?? [], registry)
    await em.upsert(FederationRegistry, { userId: user.id, entries: registry, updatedAt })
    if (isNewInstance) await recordProfileChange(em, deps, { user, changed: ['federationRegistry'], requestId })
  })
  deps.afterCommit.publishEvents()
  return updatedAt
}

function namesNewInstance(before: StoredRegistry['registry'], after: StoredRegistry['registry']): boolean {
  const spelling = ({ origin }: { origin: string }) => normalizeOrigin(origin) ?? origin
  const known = new Set(before.map(spelling))
  return after.some((entry) => !known.has(spelling(entry)))
}

/** The user is locked. The later time tells clients of the change. Contract: 7, fan-out. */
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
