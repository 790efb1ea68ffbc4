import type { Audience } from './audience.ts'

/** Members of the JSON object `presences`, without its braces. */
export type VisibleUsers = { shared: Buffer; others: Buffer }

type SharedList = { ids: ReadonlySet<string>; json: Buffer }

/** A user sees itself too. Users with the same spaces share one encoded list. */
export function createVisibleUsers(audience: Audience): (userId: string) => VisibleUsers {
  const lists = new Map<string, SharedList>()

  function sharedBy(spaceIds: readonly string[]): SharedList {
    const key = spaceIds.join(',')
    const known = lists.get(key)
    if (known) return known
    const ids = new Set(spaceIds.flatMap((spaceId) => audience.membersOf.get(spaceId) ?? []))
    const list = { ids, json: encode([...ids]) }
    lists.set(key, list)
    return list
  }

  return (userId) => {
    const { ids, json } = sharedBy(audience.spacesOf.get(userId) ?? [])
    const others = [userId, ...(audience.linkedTo.get(userId) ?? [])].filter((id) => !ids.has(id))
    return { shared: json, others: encode([...new Set(others)]) }
  }
}

function encode(ids: readonly string[]): Buffer {
  return Buffer.from(ids.map((id) => `"${id}":"online"`).join(','))
}
