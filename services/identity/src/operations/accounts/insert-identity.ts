import { nextId } from '@gatehouse/database'
import { LinkedIdentity, type User } from '@gatehouse/domain'
import type { EntityManager } from '@mikro-orm/postgresql'
import type { Deps } from '../../deps.ts'
import { claimIdentity } from './waiting.ts'

/** Of the table, as its migration names it. */
export const identityConstraint = 'linked_identities_issuer_subject'

/** `name`: what the provider calls the person. */
export type NamedIdentity = Pick<LinkedIdentity, 'provider' | 'issuer' | 'subject'> & { name: string | null }

type NewIdentity = { identity: NamedIdentity; user: User; at: Date; lastUsedAt: Date | null }

/** Violates `identityConstraint` where another account has it. Throws registration_pending where a registration waits with it. */
export async function insertIdentity(
  deps: Pick<Deps, 'databaseTime'>,
  em: EntityManager,
  { identity, user, at, lastUsedAt }: NewIdentity,
): Promise<LinkedIdentity> {
  await claimIdentity(deps, em, identity)
  const linked = em.create(LinkedIdentity, {
    id: await nextId(em),
    userId: user.id,
    ...identity,
    linkedAt: at,
    lastUsedAt,
  })
  await em.persist(linked).flush()
  return linked
}
