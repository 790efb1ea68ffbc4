import { LinkedIdentity } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'

/** Oldest first. Contract: 3, Identity providers. */
export async function listLinkedIdentities({ orm }: Pick<Deps, 'orm'>, userId: string) {
  const identities = await orm.em.fork().find(LinkedIdentity, { userId }, { orderBy: { id: 'asc' } })
  return { identities: identities.map(identityReply) }
}

/** Leaves out issuer and subject. Times are in milliseconds since the epoch. Contract: 3, Identity providers. */
export function identityReply({ id, provider, name, linkedAt, lastUsedAt }: LinkedIdentity) {
  return { id, provider, name: name ?? null, linkedAt: linkedAt.getTime(), lastUsedAt: lastUsedAt?.getTime() ?? null }
}
