import { LeftBehind, double, importTable, type ImportContext } from './context.ts'
import { readId, readText, readTime, timestamp } from './values.ts'

/** Friendships and open requests. */
export async function importFriends(context: ImportContext): Promise<void> {
  const live = (id: string | null): id is string => id !== null && context.liveUsers.has(id)
  const pairs = new Set<string>()
  const pairOf = (one: string, other: string) => (BigInt(one) < BigInt(other) ? `${one} ${other}` : `${other} ${one}`)
  await importTable(context, {
    from: 'friends',
    to: 'friendships',
    columns: ['user_id', 'friend_id', 'created_at'],
    key: (row) => `${readText(row['user_id'])}/${readText(row['friend_id'])}`,
    map: (row) => {
      const [user, friend] = [readId(row['user_id']), readId(row['friend_id'])]
      if (!live(user) || !live(friend) || user === friend) return 'it is not of two live users'
      if (pairs.has(pairOf(user, friend))) return double
      pairs.add(pairOf(user, friend))
      return { user_id: user, friend_id: friend, created_at: timestamp(readTime(row['created_at'], user)) }
    },
  })
  const asked = new Set<string>()
  const ids = new Set<string>()
  await importTable(context, {
    from: 'friend_requests',
    to: 'friend_requests',
    columns: ['id', 'from_user_id', 'to_user_id', 'created_at'],
    map: (row) => {
      const [id, from, to] = [readId(row['id']), readId(row['from_id']), readId(row['to_id'])]
      if (row['status'] !== 'pending') return new LeftBehind('decided friend requests')
      if (id === null || ids.has(id) || !live(from) || !live(to) || from === to) return 'it is not of two live users'
      if (pairs.has(pairOf(from, to))) return 'they are friends'
      if (asked.has(`${from} ${to}`)) return double
      asked.add(`${from} ${to}`)
      ids.add(id)
      return { id, from_user_id: from, to_user_id: to, created_at: timestamp(readTime(row['created_at'], id)) }
    },
  })
}
