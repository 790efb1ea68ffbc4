import { normalizeOrigin, type ProfileBody } from '@gatehouse/contracts'
import type { ReplicatedInstance } from '@gatehouse/domain'
import { invalidInput } from '@gatehouse/runtime'

type Submitted = NonNullable<ProfileBody['replicatedInstances']>

/** The first entry of an origin counts. Throws invalid_input. Contract: 3, PATCH. */
export function normalizeReplicatedInstances(
  submitted: Submitted,
  { allowHttp }: { allowHttp: boolean },
): ReplicatedInstance[] {
  const byOrigin = new Map<string, ReplicatedInstance>()
  for (const { origin: given, username } of submitted) {
    const origin = normalizeOrigin(given)
    const isAllowed = origin?.startsWith('https://') || (allowHttp && origin?.startsWith('http://'))
    if (!origin || !isAllowed || username === '')
      throw invalidInput(
        { field: 'replicatedInstances', reason: 'invalid' },
        { text: 'replicatedInstances must hold https origins and usernames' },
      )
    if (!byOrigin.has(origin)) byOrigin.set(origin, { origin, username })
  }
  return [...byOrigin.values()]
}

/** The spelling of an origin does not matter. */
export function withoutOrigins<Entry extends { origin: string }>(
  stored: readonly Entry[],
  origins: readonly string[],
): Entry[] {
  const spelling = (origin: string) => normalizeOrigin(origin) ?? origin
  const removed = new Set(origins.map(spelling))
  return stored.filter(({ origin }) => !removed.has(spelling(origin)))
}
