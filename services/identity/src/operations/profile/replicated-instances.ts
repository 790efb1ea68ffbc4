import { normalizeOrigin, type ProfileBody } from '@gatehouse/contracts'
import type { ReplicatedInstance } from '@gatehouse/domain'
import { refuse } from '../../errors.ts'

type Submitted = NonNullable<ProfileBody['replicatedInstances']>

/**
 * The list as it is stored: origins in their one spelling, each once. Plain http is allowed where the operator allows
 * private peers. Throws origin_invalid. Contract: 3, PATCH.
 */
export function normalizeReplicatedInstances(
  submitted: Submitted,
  { allowHttp }: { allowHttp: boolean },
): ReplicatedInstance[] {
  const instances = submitted.map((instance) => {
    const origin = normalizeOrigin(instance.origin)
    const username = instance.username.trim()
    const isAllowed = origin?.startsWith('https://') || (allowHttp && origin?.startsWith('http://'))
    if (!origin || !isAllowed || username === '') throw refuse.origin_invalid()
    return { origin, username }
  })
  if (new Set(instances.map(({ origin }) => origin)).size < instances.length) throw refuse.origin_invalid()
  return instances
}

/** The stored list without these origins. */
export function withoutOrigins(
  stored: readonly ReplicatedInstance[],
  origins: readonly string[],
): ReplicatedInstance[] {
  const spelling = (origin: string) => normalizeOrigin(origin) ?? origin
  const removed = new Set(origins.map(spelling))
  return stored.filter(({ origin }) => !removed.has(spelling(origin)))
}
