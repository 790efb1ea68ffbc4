import { normalizeOrigin, type registryBody, type registryReply } from '@gatehouse/contracts'
import { FederationRegistry } from '@gatehouse/domain'
import { refuse } from '@gatehouse/runtime'
import type { z } from 'zod'
import type { OperationContext } from '../../deps.ts'
import { changeSelf, recordProfileChange, type OwnAct } from '../change-account.ts'

type Registry = z.infer<typeof registryReply>

/** The clients keep this list. protocol.md 5.2. */
export async function readRegistry({ orm }: Pick<OperationContext, 'orm'>, userId: string): Promise<Registry> {
  const stored = await orm.em.fork().findOne(FederationRegistry, { userId })
  return { registry: stored?.entries ?? [], updatedAt: stored?.updatedAt ?? 0 }
}

/** An instance that is newly named gets the profile. Refuses a list that is not newer. protocol.md 5.2. */
export async function putRegistry(deps: OperationContext, list: z.infer<typeof registryBody> & OwnAct) {
  const { caller, registry, updatedAt, requestId } = list
  const spelling = ({ origin }: { origin: string }) => normalizeOrigin(origin) ?? origin
  await changeSelf(deps, caller, async (user, em) => {
    const stored = await em.findOne(FederationRegistry, { userId: user.id })
    if (stored && updatedAt <= stored.updatedAt) throw refuse.registry_conflict()
    const storedOrigins = new Set(stored?.entries.map(spelling))
    await em.upsert(FederationRegistry, { userId: user.id, entries: registry, updatedAt })
    if (registry.every((entry) => storedOrigins.has(spelling(entry)))) return
    await recordProfileChange(em, deps, { user, changed: ['federationRegistry'], requestId })
  })
  deps.afterCommit.publishEvents()
  return { ok: true, updatedAt }
}
