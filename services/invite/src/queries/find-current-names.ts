import { User } from '@gatehouse/domain'
import type { Deps } from '../deps.ts'
import { policy } from '../policy.ts'

export type CurrentName = { username: string; isDeleted: boolean }

/** What accounts are called today, by id; those that are gone altogether are missing. Contract: 4. */
export async function findCurrentNames(
  { orm }: Pick<Deps, 'orm'>,
  userIds: readonly (string | null | undefined)[],
): Promise<Map<string, CurrentName>> {
  const ids = [...new Set(userIds.filter((id) => id != null))]
  if (ids.length === 0) return new Map()
  const users = await orm.em.fork().find(User, { id: { $in: ids } }, { fields: ['username', 'isDeleted'] })
  return new Map(users.map(({ id, username, isDeleted }) => [id, nameOf(username, isDeleted)]))
}

function nameOf(username: string, isDeleted: boolean): CurrentName {
  return { username: isDeleted ? policy.deletedUsername : username, isDeleted }
}
