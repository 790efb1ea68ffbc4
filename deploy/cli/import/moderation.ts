import { importTable, isUser, once, userOrNull, type ImportContext } from './context.ts'
import { readId, readText } from './values.ts'

/** Bans, requests to join and restrictions of spaces. */
export async function importModeration(context: ImportContext, spaces: ReadonlySet<string>): Promise<void> {
  const ofSpace = (row: Record<string, unknown>) => {
    const [space, user] = [readId(row['space_id']), readId(row['user_id'])]
    return space && spaces.has(space) && user && isUser(context, user) ? { space_id: space, user_id: user } : null
  }
  const bans = new Set<string>()
  await importTable(context, {
    from: 'bans',
    to: 'bans',
    columns: ['space_id', 'user_id', 'banned_by', 'reason'],
    map: (row) => {
      const key = ofSpace(row)
      if (!key) return 'its space or user is missing'
      const by = userOrNull(context, readId(row['banned_by']))
      return once(bans, `${key.space_id} ${key.user_id}`) ?? { ...key, banned_by: by, reason: readText(row['reason']) }
    },
  })
  const requests = new Set<string>()
  await importTable(context, {
    from: 'join_requests',
    to: 'join_requests',
    columns: ['id', 'space_id', 'user_id', 'decided_by', 'status'],
    map: (row) => {
      const [key, id] = [ofSpace(row), readId(row['id'])]
      if (!key || id === null) return 'its space or user is missing'
      const by = userOrNull(context, readId(row['decided_by']))
      return once(requests, id) ?? { id, ...key, decided_by: by, status: readText(row['status']) ?? 'pending' }
    },
  })
  const restrictions = new Set<string>()
  await importTable(context, {
    from: 'voice_restrictions',
    to: 'voice_restrictions',
    columns: ['space_id', 'user_id', 'moderator_id'],
    map: (row) => {
      const key = ofSpace(row)
      if (!key) return 'its space or user is missing'
      const moderator = userOrNull(context, readId(row['moderator_id']))
      return once(restrictions, `${key.space_id} ${key.user_id}`) ?? { ...key, moderator_id: moderator }
    },
  })
}
