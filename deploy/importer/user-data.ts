import { importTable, importedId, type ImportContext } from './context.ts'
import { readId, readInteger, readText, readTimestamp } from './values.ts'

/** Friendships and open requests. */
export async function importFriends(context: ImportContext): Promise<void> {
  const { liveUsers } = context
  const friends = new Set<string>()
  const pairOf = (one: string, other: string) => (BigInt(one) < BigInt(other) ? `${one} ${other}` : `${other} ${one}`)
  await importTable(context, 'friends', {
    to: 'friendships',
    unique: [['user_id', 'friend_id']],
    map: (row) => {
      const [user, friend] = [importedId(liveUsers, row['user_id']), importedId(liveUsers, row['friend_id'])]
      if (!user || !friend || user === friend) return 'it is not of two live users'
      friends.add(pairOf(user, friend))
      const [first, second] = pairOf(user, friend).split(' ')
      return { user_id: first, friend_id: second, created_at: readTimestamp(row['created_at'], user) }
    },
  })
  await importTable(context, 'friend_requests', {
    unique: [['id'], ['from_user_id', 'to_user_id']],
    map: (row) => {
      const [from, to] = [importedId(liveUsers, row['from_id']), importedId(liveUsers, row['to_id'])]
      const id = readId(row['id'])
      if (row['status'] !== 'pending') return context.report.leaveBehind('decided friend requests')
      if (!id || !from || !to || from === to) return 'it is not of two live users'
      if (friends.has(pairOf(from, to))) return 'they are friends'
      return { id, from_user_id: from, to_user_id: to, created_at: readTimestamp(row['created_at'], id) }
    },
  })
}

/** What users have read, and the folders of their spaces. */
export async function importReadStates(context: ImportContext): Promise<void> {
  const { liveUsers } = context
  await importTable(context, 'read_states', {
    unique: [['user_id', 'channel_id']],
    map: (row) => {
      const [user, channel] = [importedId(liveUsers, row['user_id']), readId(row['channel_id'])]
      if (!user || !channel) return 'its user is missing'
      return { user_id: user, channel_id: channel, last_read_id: readId(row['last_read_message_id']) }
    },
  })
  await importTable(context, 'space_folders', (row) => {
    const [id, user] = [readId(row['id']), importedId(liveUsers, row['user_id'])]
    if (!id || !user) return 'its user is missing'
    const position = readInteger(row['position']) ?? 0n
    return { id, user_id: user, name: readText(row['name']), position: Number(BigInt.asIntN(32, position)) }
  })
}
